import protobuf from 'protobufjs/minimal.js';
import { WireError, heartbeatRequestCodec, heartbeatResponseCodec } from './codec.ts';
import type { HeartbeatRequest } from './codec.ts';
import { fieldsOf } from './fields.ts';

/** `:path` of the one method that agents call. */
export const HEARTBEAT_PATH = '/cloud.bmaas.server.api.AgentCallback/Heartbeat';

const LENGTH_DELIMITED = 2;
const HARDWARE_REPORT_FIELD = 2;
const INSTALLATION_REPORT_FIELD = 3;
const INSTALLATION_REQUEST_TAG = (1 << 3) | LENGTH_DELIMITED;
/** Of a message that anybody may send: a heartbeat has seven fields, its newer forms a few more. */
const FIELDS_MAX = 256;
const ENVELOPE_MAX_BYTES = 16 * 1024;

/** Who calls, and how it is: what must be known before the rest is worth reading. */
export type HeartbeatEnvelope = Omit<HeartbeatRequest, 'hardwareReport' | 'installationReport'>;

/** A heartbeat whose reports are serialized still, with every field the sender put in. */
export interface ReceivedHeartbeat {
  readonly envelope: HeartbeatEnvelope;
  /** Null when it is absent, as is the other. Not known to be a message at all. */
  readonly hardwareReport: Uint8Array | null;
  readonly installationReport: Uint8Array | null;
}

/**
 * Reads all but the reports; costs the same whatever they hold. Parts of a report that come
 * separately are one message when put together.
 * @throws {WireError} not a HeartbeatRequest, or one with too much around its reports.
 */
export function readHeartbeat(bytes: Uint8Array): ReceivedHeartbeat {
  const hardware: Uint8Array[] = [];
  const installation: Uint8Array[] = [];
  const rest: Uint8Array[] = [];
  let fields = 0;
  for (const { number, content, raw } of fieldsOf(bytes)) {
    if ((fields += 1) > FIELDS_MAX) throw new WireError('HeartbeatRequest has too many fields');
    if (content && number === HARDWARE_REPORT_FIELD) hardware.push(content);
    else if (content && number === INSTALLATION_REPORT_FIELD) installation.push(content);
    else rest.push(raw);
  }
  return {
    envelope: readEnvelope(Buffer.concat(rest)),
    hardwareReport: join(hardware),
    installationReport: join(installation),
  };
}

function readEnvelope(bytes: Uint8Array): HeartbeatEnvelope {
  if (bytes.length > ENVELOPE_MAX_BYTES) throw new WireError('HeartbeatRequest is too large');
  return heartbeatRequestCodec.decode(bytes);
}

const join = (parts: readonly Uint8Array[]): Uint8Array | null =>
  parts.length === 0 ? null : Buffer.concat(parts);

/**
 * Serializes an answer around an installation request that is passed on as it was stored: parts of
 * one protobuf message may be written one after another.
 */
export function writeHeartbeatResponse(answer: {
  readonly installationRequest: Uint8Array | null;
  readonly heartbeatIntervalSeconds: number;
  readonly sendHardwareReport: boolean;
  readonly reboot?: boolean;
}): Uint8Array {
  const rest = heartbeatResponseCodec.encode({
    heartbeatIntervalSeconds: BigInt(answer.heartbeatIntervalSeconds),
    sendHardwareReport: answer.sendHardwareReport,
    reboot: answer.reboot ?? false,
  });
  if (!answer.installationRequest) return rest;
  const head = protobuf.Writer.create().uint32(INSTALLATION_REQUEST_TAG);
  return Buffer.concat([head.bytes(answer.installationRequest).finish(), rest]);
}
