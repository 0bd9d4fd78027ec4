#!/bin/sh
# enter_host.sh HOST WORDS…: runs the words on a host of the testbed that we are in.
host=$1
shift
exec nsenter --net="/dev/shm/$host/net" --uts="/dev/shm/$host/uts" -- "$@"
