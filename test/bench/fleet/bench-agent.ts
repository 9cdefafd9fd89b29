import { randomBytes } from 'node:crypto';

/**
 * Answers an agent start as the agent does, and ends: `TakeoverResponse { success { init_message,
 * key } }` with the request and 32 random bytes. A protobuf length has seven bits in each byte.
 */
const PROGRAM = String.raw`#!/bin/sh
byte() { printf "\\$(($1 / 64))$(($1 / 8 % 8))$(($1 % 8))"; }
length() {
  rest=$1
  while [ "$rest" -gt 127 ]; do byte $((rest % 128 + 128)); rest=$((rest / 128)); done
  byte "$rest"
}
asked=$0.asked
cat >"$asked"
size=$(wc -c <"$asked")
field=1
if [ "$size" -gt 127 ]; then field=2; fi
if [ "$size" -gt 16383 ]; then field=3; fi
byte 10; length $((1 + field + size + 34))
byte 10; length "$size"; cat "$asked"
byte 18; byte 32; head -c 32 /dev/urandom
rm "$asked"
exit
`;

/**
 * A small program in a large file, like an agent for the machine: it starts at once, and noise that
 * does not compress follows its end.
 */
export const benchAgent = (sizeBytes: number): Buffer =>
  Buffer.concat([Buffer.from(PROGRAM), randomBytes(sizeBytes - PROGRAM.length)]);
