#!/bin/sh
# How sample.mp4 was made: four plain colours, two seconds, H.264 in the profile that every player knows.
# Not needed to run anything; ffmpeg 5 was used.
set -eu
cd "$(dirname "$0")"

plain() { echo "color=c=$1:s=320x180:r=24:d=0.5"; }

ffmpeg -v error -y \
  -f lavfi -i "$(plain 0x1f6feb)" -f lavfi -i "$(plain 0x2da44e)" \
  -f lavfi -i "$(plain 0xd29922)" -f lavfi -i "$(plain 0xcf222e)" \
  -filter_complex "[0][1][2][3]concat=n=4:v=1:a=0,format=yuv420p" \
  -c:v libx264 -profile:v baseline -level 3.0 -preset veryslow -bf 0 -g 12 -x264-params sei=0 \
  -fflags +bitexact -flags:v +bitexact -map_metadata -1 -movflags +faststart sample.mp4
