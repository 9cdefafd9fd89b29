import protobuf from 'protobufjs/light.js';
import { descriptor } from './descriptor.ts';
import type * as messages from './messages.ts';

export type { AgentInit, BlockDevice, HeartbeatRequest, HeartbeatResponse } from './messages.ts';
export type { NetworkInterface, RootDeviceSelector, TakeoverInit } from './messages.ts';
export type { TakeoverResponse } from './messages.ts';
export type HardwareNode = messages.Node;
export type Cpu = messages.CPU;
export type HardwareReport = messages.AgentHardwareReport;
export type InstallationReport = messages.OSInstallationReport;
export type InstallationRequest = messages.OSInstallationRequest;
export type GenericImage = messages.GenericImageInstallation;

/** Bytes that are no message of the expected type, or a message that cannot be written. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

/** Writes and reads one message type. Both throw {WireError}. */
export interface Codec<Message> {
  encode(message: Message): Uint8Array;
  /** Lists are present even when empty; a oneof also has a field that names the member set. */
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

/** By its full name; its reader and its writer are made when they are first used. */
export const messageType = (name: string): protobuf.Type => schemas.lookupType(name);

/** 64-bit integers are bigint; fields that the schema does not know are left out. */
const PLAIN = { longs: BigInt, arrays: true, oneofs: true };

/** What a decoded message says, as data. */
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
export const installationReportCodec = codec<InstallationReport>(`${SERVER}.OSInstallationReport`);
export const installationRequestCodec = codec<InstallationRequest>(
  `${SERVER}.OSInstallationRequest`,
);
