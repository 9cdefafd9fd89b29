import type Long from 'long';
import type { Reader, Writer } from 'protobufjs/minimal.js';
import { cloud } from './messages.js';

const agent = cloud.agent.api;
const server = cloud.bmaas.server.api;

/** A generated message as plain data: int64 fields are bigint, unknown fields are left out. */
export type Plain<T> = [Extract<T, Long>] extends [never]
  ? PlainEach<T>
  : bigint | Extract<T, null | undefined>;
type PlainEach<T> = T extends Uint8Array | string | number | boolean | null | undefined
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Plain<Item>[]
    : { readonly [Key in keyof T as Exclude<Key, '$unknowns'>]: Plain<T[Key]> };

export type TakeoverInit = Plain<cloud.agent.api.TakeoverInit.$Properties>;
export type TakeoverResponse = Plain<cloud.agent.api.TakeoverResponse.$Properties>;
export type AgentInit = Plain<cloud.agent.api.AgentInit.$Properties>;
export type HardwareNode = Plain<cloud.agent.api.Node.$Properties>;
export type Cpu = Plain<cloud.agent.api.CPU.$Properties>;
export type BlockDevice = Plain<cloud.agent.api.BlockDevice.$Properties>;
export type NetworkInterface = Plain<cloud.agent.api.NetworkInterface.$Properties>;
export type HardwareReport = Plain<cloud.bmaas.server.api.AgentHardwareReport.$Properties>;
export type HeartbeatRequest = Plain<cloud.bmaas.server.api.HeartbeatRequest.$Properties>;
export type HeartbeatResponse = Plain<cloud.bmaas.server.api.HeartbeatResponse.$Properties>;
export type InstallationReport = Plain<cloud.bmaas.server.api.OSInstallationReport.$Properties>;
export type InstallationRequest = Plain<cloud.bmaas.server.api.OSInstallationRequest.$Properties>;
export type GenericImage = Plain<cloud.bmaas.server.api.GenericImageInstallation.$Properties>;
export type RootDeviceSelector = Plain<cloud.bmaas.server.api.RootDeviceSelector.$Properties>;

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

/** The part of a generated class that is used here. */
interface GeneratedType<Instance> {
  fromObject(object: Record<string, unknown>): Instance;
  toObject(message: Instance, options: object): unknown;
  encode(message: Instance): Writer;
  decode(reader: Reader | Uint8Array): Instance;
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

/** Plain data of a decoded instance. */
const plain = <Message, Instance>(type: GeneratedType<Instance>, message: Instance) =>
  type.toObject(message, { longs: BigInt, arrays: true, oneofs: true }) as Message;

function codec<Message, Instance>(name: string, type: GeneratedType<Instance>): Codec<Message> {
  return {
    encode: (message) =>
      onWire(`cannot write ${name}`, () =>
        type.encode(type.fromObject(message as Record<string, unknown>)).finish(),
      ),
    decode: (bytes) =>
      onWire(`cannot read ${name}`, () => plain<Message, Instance>(type, type.decode(bytes))),
  };
}

export const takeoverInitCodec = codec<TakeoverInit, cloud.agent.api.TakeoverInit>(
  'TakeoverInit',
  agent.TakeoverInit,
);
export const takeoverResponseCodec = codec<TakeoverResponse, cloud.agent.api.TakeoverResponse>(
  'TakeoverResponse',
  agent.TakeoverResponse,
);
export const agentInitCodec = codec<AgentInit, cloud.agent.api.AgentInit>(
  'AgentInit',
  agent.AgentInit,
);
export const hardwareReportCodec = codec<
  HardwareReport,
  cloud.bmaas.server.api.AgentHardwareReport
>('AgentHardwareReport', server.AgentHardwareReport);
export const heartbeatRequestCodec = codec<
  HeartbeatRequest,
  cloud.bmaas.server.api.HeartbeatRequest
>('HeartbeatRequest', server.HeartbeatRequest);
export const heartbeatResponseCodec = codec<
  HeartbeatResponse,
  cloud.bmaas.server.api.HeartbeatResponse
>('HeartbeatResponse', server.HeartbeatResponse);
export const installationReportCodec = codec<
  InstallationReport,
  cloud.bmaas.server.api.OSInstallationReport
>('OSInstallationReport', server.OSInstallationReport);
export const installationRequestCodec = codec<
  InstallationRequest,
  cloud.bmaas.server.api.OSInstallationRequest
>('OSInstallationRequest', server.OSInstallationRequest);
