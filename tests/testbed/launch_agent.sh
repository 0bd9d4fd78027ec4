#!/bin/sh
# launch_agent.sh HOST WORDS…: what Open MPI calls instead of ssh. As with ssh, the words are a line for that host's shell.
host=$1
shift
exec "$(dirname "$0")/enter_host.sh" "$host" sh -c "$*"
