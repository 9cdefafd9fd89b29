import protobuf from 'protobufjs/minimal.js';
import { onWire } from './codec.ts';

/** One field of a serialized message, not decoded. */
export interface RawField {
  readonly number: number;
  /** What is inside a length-delimited field; null for the other wire types. */
  readonly content: Uint8Array | null;
  /** The field with its tag, as it was serialized. */
  readonly raw: Uint8Array;
}

const START_GROUP = 3;
const END_GROUP = 4;
const LENGTH_DELIMITED = 2;

/**
 * The fields of a serialized message one after another, at the cost of their headers only. Groups,
 * which proto3 does not have, are refused: skipping one may cost as much as decoding it.
 * @throws {WireError} not a message.
 */
export function* fieldsOf(bytes: Uint8Array): Generator<RawField, void> {
  const reader = protobuf.Reader.create(bytes);
  while (reader.pos < reader.len) yield onWire('cannot read a field', () => nextField(reader));
}

function nextField(reader: protobuf.Reader): RawField {
  const start = reader.pos;
  const tag = reader.tag();
  const [number, wireType] = [tag >>> 3, tag & 7];
  if (number === 0) throw new Error('field number 0');
  if (wireType === START_GROUP || wireType === END_GROUP) throw new Error('groups are not used');
  const content = wireType === LENGTH_DELIMITED ? reader.bytes() : null;
  if (!content) reader.skipType(wireType);
  return { number, content, raw: reader.buf.subarray(start, reader.pos) };
}

/**
 * What may be many in a message: each length-delimited field that holds messages, by its number,
 * or `packed` for numbers one after another.
 */
export interface MessageShape {
  readonly [field: number]: MessageShape | 'packed';
}

/**
 * Counts fields and packed numbers through all nested messages, and stops as soon as there are more
 * than `fieldsMax`; so it costs little where decoding would cost much.
 * @throws {WireError} not a message.
 */
export function hasAtMostFields(
  bytes: Uint8Array,
  shape: MessageShape,
  fieldsMax: number,
): boolean {
  return fieldsLeft(bytes, shape, fieldsMax) >= 0;
}

function fieldsLeft(bytes: Uint8Array, shape: MessageShape, fieldsMax: number): number {
  let left = fieldsMax;
  for (const { number, content } of fieldsOf(bytes)) {
    left -= 1;
    const inner = content ? shape[number] : undefined;
    if (content && inner === 'packed') left -= packedCount(content, left);
    else if (content && inner && left >= 0) left = fieldsLeft(content, inner, left);
    if (left < 0) return left;
  }
  return left;
}

/** Numbers end with the byte that has no continuation bit. Counts no further than beyond `max`. */
function packedCount(content: Uint8Array, max: number): number {
  let count = 0;
  for (let at = 0; at < content.length && count <= max; at += 1) {
    if (content[at]! < 0x80) count += 1;
  }
  return count;
}
