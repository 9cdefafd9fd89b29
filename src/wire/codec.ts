import protobuf from 'protobufjs/light.js';
import { descriptor } from './descriptor.ts';
import type * as messages from './messages.ts';

export type { AgentInit, BlockDevice, Condition } from './messages.ts';
export type { HeartbeatRequest, HeartbeatResponse } from './messages.ts';
export type { NetworkInterface, RootDeviceSelector, TakeoverInit } from './messages.ts';
export type { TakeoverResponse } from './messages.ts';
export type { AcceptanceRequest, AcceptanceResult } from './messages.ts';
export type WireProfile = messages.AcceptanceProfile;
export type Check = messages.AcceptanceResult_Check;
export type HardwareNode = messages.Node;
export type Cpu = messages.CPU;
export type HardwareReport = messages.AgentHardwareReport;
export type InstallationReport = messages.OSInstallationReport;
export type InstallationRequest = messages.OSInstallationRequest;
export type GenericImage = messages.GenericImageInstallation;

/** The bytes are no message of the expected type, or the message cannot be written. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

/** Writes and reads one message type. Both throw {WireError}. */
export interface Codec<Message> {
  encode(message: Message): Uint8Array;
  /** Lists are always present; a oneof also has a field that names the set member. */
  decode(bytes: Uint8Array): Message;
}

/** Runs one step of encoding or decoding; its errors become {WireError}. */
export function onWire<Result>(what: string, step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    throw new WireError(`${what}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

const schemas = protobuf.Root.fromJSON(descriptor);

/** Finds a type by its full name; its reader and writer are made at first use. */
export const messageType = (name: string): protobuf.Type => schemas.lookupType(name);

/** 64-bit integers become bigint; unknown fields are dropped. */
const PLAIN = { longs: BigInt, arrays: true, oneofs: true };

/** A decoded message as plain data. */
export const plain = (message: protobuf.Message): object => message.$type.toObject(message, PLAIN);

function codec<Message extends object>(name: string): Codec<Message> {
  const type = messageType(name);
  return {
    encode: (message) =>
      onWire(`cannot write ${type.name}`, () => type.encode(type.fromObject(message)).finish()),
    decode: (bytes) =>
      onWire(`cannot read ${type.name}`, () => type.toObject(type.decode(bytes), PLAIN) as Message),
  };
}

const AGENT = 'cloud.agent.api';
export const takeoverInitCodec = codec<messages.TakeoverInit>(`${AGENT}.TakeoverInit`);
export const takeoverResponseCodec = codec<messages.TakeoverResponse>(`${AGENT}.TakeoverResponse`);
export const agentInitCodec = codec<messages.AgentInit>(`${AGENT}.AgentInit`);

const SERVER = 'cloud.bmaas.server.api';
export const hardwareReportCodec = codec<HardwareReport>(`${SERVER}.AgentHardwareReport`);
export const heartbeatRequestCodec = codec<messages.HeartbeatRequest>(`${SERVER}.HeartbeatRequest`);
export const heartbeatResponseCodec = codec<messages.HeartbeatResponse>(
  `${SERVER}.HeartbeatResponse`,
);
export const conditionCodec = codec<messages.Condition>(`${SERVER}.Condition`);
export const acceptanceRequestCodec = codec<messages.AcceptanceRequest>(
  `${SERVER}.AcceptanceRequest`,
);
export const acceptanceResultCodec = codec<messages.AcceptanceResult>(`${SERVER}.AcceptanceResult`);
export const installationReportCodec = codec<InstallationReport>(`${SERVER}.OSInstallationReport`);
export const installationRequestCodec = codec<InstallationRequest>(
  `${SERVER}.OSInstallationRequest`,
);

/** One undecoded field of a serialized message. */
interface RawField {
  readonly number: number;
  /** Content of a length-delimited field; null for other wire types. */
  readonly content: Uint8Array | null;
  /** The serialized field with its tag. */
  readonly raw: Uint8Array;
}

const START_GROUP = 3;
const END_GROUP = 4;
const LENGTH_DELIMITED = 2;

/**
 * Iterates over the fields of a serialized message, at the cost of their headers only. Refuses
 * groups, which proto3 lacks and which may cost as much to skip as to decode.
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
 * The repeatable parts of a message: its length-delimited message fields by number, or `packed` for
 * consecutive numbers.
 */
export interface MessageShape {
  readonly [field: number]: MessageShape | 'packed';
}

/**
 * Counts fields and packed numbers in all nested messages and stops beyond `fieldsMax`: cheap even
 * where decoding would be expensive.
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

/** Each number ends with a byte without continuation bit. Stops beyond `max`. */
function packedCount(content: Uint8Array, max: number): number {
  let count = 0;
  for (let at = 0; at < content.length && count <= max; at += 1) {
    if (content[at]! < 0x80) count += 1;
  }
  return count;
}

/** `:path` of the agents' only method. */
export const HEARTBEAT_PATH = '/cloud.bmaas.server.api.AgentCallback/Heartbeat';

const HARDWARE_REPORT_FIELD = 2;
const INSTALLATION_REPORT_FIELD = 3;
const CONDITION_FIELD = 104;
const ACCEPTANCE_FIELD = 105;
const INSTALLATION_REQUEST_TAG = (1 << 3) | LENGTH_DELIMITED;
const ACCEPTANCE_REQUEST_TAG = (104 << 3) | LENGTH_DELIMITED;
/** Limit for untrusted messages: a heartbeat has seven fields, newer forms a few more. */
const FIELDS_MAX = 256;
const ENVELOPE_MAX_BYTES = 16 * 1024;

/** The caller and its state, needed before the reports are worth reading. */
type HeartbeatEnvelope = Omit<
  messages.HeartbeatRequest,
  'hardwareReport' | 'installationReport' | 'condition' | 'acceptance'
>;

/** A heartbeat with serialized reports and all fields of its sender. */
export interface ReceivedHeartbeat {
  readonly envelope: HeartbeatEnvelope;
  /** Null: absent. Not yet known to be a valid message. */
  readonly hardwareReport: Uint8Array | null;
  readonly installationReport: Uint8Array | null;
  /** Serialized conditions, each not yet known to be a valid message. */
  readonly conditions: readonly Uint8Array[];
  /** Serialized result of an acceptance; null: absent. */
  readonly acceptance: Uint8Array | null;
}

/**
 * Reads all but the reports, at a cost independent of them. Joins the separate parts of a report.
 * @throws {WireError} not a HeartbeatRequest, or too much data around its reports.
 */
export function readHeartbeat(bytes: Uint8Array): ReceivedHeartbeat {
  const hardware: Uint8Array[] = [];
  const installation: Uint8Array[] = [];
  const conditions: Uint8Array[] = [];
  const acceptance: Uint8Array[] = [];
  const rest: Uint8Array[] = [];
  let fields = 0;
  for (const { number, content, raw } of fieldsOf(bytes)) {
    if ((fields += 1) > FIELDS_MAX) throw new WireError('HeartbeatRequest has too many fields');
    if (content && number === HARDWARE_REPORT_FIELD) hardware.push(content);
    else if (content && number === INSTALLATION_REPORT_FIELD) installation.push(content);
    else if (content && number === CONDITION_FIELD) conditions.push(content);
    else if (content && number === ACCEPTANCE_FIELD) acceptance.push(content);
    else rest.push(raw);
  }
  return {
    envelope: readEnvelope(Buffer.concat(rest)),
    hardwareReport: join(hardware),
    installationReport: join(installation),
    conditions,
    acceptance: join(acceptance),
  };
}

function readEnvelope(bytes: Uint8Array): HeartbeatEnvelope {
  if (bytes.length > ENVELOPE_MAX_BYTES) throw new WireError('HeartbeatRequest is too large');
  return heartbeatRequestCodec.decode(bytes);
}

const join = (parts: readonly Uint8Array[]): Uint8Array | null =>
  parts.length === 0 ? null : Buffer.concat(parts);

/**
 * Serializes an answer around a stored installation request and a request of acceptance: parts of a
 * protobuf message may be concatenated.
 */
export function writeHeartbeatResponse(answer: {
  readonly installationRequest: Uint8Array | null;
  readonly heartbeatIntervalSeconds: number;
  readonly sendHardwareReport: boolean;
  readonly reboot?: boolean;
  /** Time of the heartbeat, epoch ms; absent: unknown. */
  readonly clockMs?: number;
  /** Serialized `AcceptanceRequest`; null or absent: none. */
  readonly acceptance?: Uint8Array | null;
}): Uint8Array {
  const rest = heartbeatResponseCodec.encode({
    heartbeatIntervalSeconds: BigInt(answer.heartbeatIntervalSeconds),
    sendHardwareReport: answer.sendHardwareReport,
    reboot: answer.reboot ?? false,
    clockMs: BigInt(Math.trunc(answer.clockMs ?? 0)),
  });
  const part = (tag: number, bytes: Uint8Array | null = null) =>
    bytes ? protobuf.Writer.create().uint32(tag).bytes(bytes).finish() : Buffer.alloc(0);
  return Buffer.concat([
    part(INSTALLATION_REQUEST_TAG, answer.installationRequest),
    rest,
    part(ACCEPTANCE_REQUEST_TAG, answer.acceptance),
  ]);
}
