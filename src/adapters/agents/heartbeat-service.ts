import { Cancelled, Throttled, explain } from '../../domain/errors.ts';
import type { HeartbeatOutcome, HeartbeatRecord, HeartbeatStore } from '../../domain/heartbeat.ts';
import { machineId, readUuid, type MachineId } from '../../domain/ids.ts';
import { WireError, installationRequestCodec } from '../../wire/codec.ts';
import { GrpcError, GrpcStatus } from '../../wire/grpc.ts';
import { readHeartbeat, writeHeartbeatResponse } from '../../wire/codec.ts';
import type { ReceivedHeartbeat } from '../../wire/codec.ts';
import { sleep, type Clock } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import { createBatcher } from '../../lib/batcher.ts';
import { createRateLimit } from '../../lib/rate-limit.ts';
import { createByteRoom, createRecentSet, firstOf, type AgentServerLimits } from './limits.ts';
import { writeAcceptanceRequest } from './acceptance.ts';
import { readReports } from './reports.ts';

interface HeartbeatServiceOptions {
  readonly intake: Intake;
  readonly log: Log;
  readonly clock: Clock;
  readonly limits: AgentServerLimits;
  /** Interval that agents are told to report at; 0 leaves the choice to them. */
  readonly heartbeatIntervalSeconds: number;
  /** Whether the machine should send its hardware report (again). Default: never. */
  readonly hardwareReportWanted?: ((machine: MachineId) => boolean) | undefined;
}

/** The peer of a connection, the same for all its calls. */
export interface Caller {
  /** Raw Ed25519 key proved by TLS. */
  readonly publicKey: Uint8Array;
  /** The same key in hexadecimal. */
  readonly key: string;
  /** The peer's network: an IPv4 address, or the /64 of an IPv6 address. */
  readonly network: string;
}

/** One call, as the transport received it. */
interface HeartbeatCall {
  readonly caller: Caller;
  /**
   * Reads the serialized request; not called if the caller has used up its limit. Calls `take` for
   * the bytes of each piece, and fails if that returns false.
   */
  readonly body: (take: (bytes: number) => boolean) => Promise<Uint8Array>;
}

/** Returns a serialized response. @throws {GrpcError} for every other result. */
export type HeartbeatService = (call: HeartbeatCall) => Promise<Uint8Array>;

/** One text for an unknown machine and a wrong key, so that nobody can probe for machines. */
const UNAUTHENTICATED = 'unknown machine or key';
/** How long an accepted agent is trusted before the database must confirm it again. */
const KNOWN_MS = 10 * 60_000;
const BOOT_ID = /^[\x21-\x7e]{1,64}$/;

type Accepted = Extract<HeartbeatOutcome, { kind: 'accepted' }>;

export function createHeartbeatService(options: HeartbeatServiceOptions): HeartbeatService {
  const { log, clock, limits } = options;
  const callsOfKey = createRateLimit(limits.callsPerKey, clock);
  const refusalsOfNetwork = createRateLimit(limits.refusalsPerAddress, clock);
  const knownKeys = createRecentSet(KNOWN_MS, clock);
  const record = createRecorder(options);
  const agents = createByteRoom<string>(limits.agentBytes);
  const strangers = createByteRoom<string>(limits.strangerBytes);
  const connections = createByteRoom<Caller>({ all: Infinity, each: limits.connectionBytes });

  const answer = async ({ publicKey, network, key }: Caller, body: Uint8Array) => {
    const received = decode(body);
    const beat = toBeat(received, publicKey);
    const accepted = await record(beat, received, claimOf(beat, key));
    if (!accepted) {
      knownKeys.delete(key);
      refusalsOfNetwork.take(network);
      throw new GrpcError(GrpcStatus.unauthenticated, UNAUTHENTICATED);
    }
    knownKeys.add(key);
    return writeHeartbeatResponse({
      installationRequest: readableRequest(beat, accepted, log),
      heartbeatIntervalSeconds: options.heartbeatIntervalSeconds,
      sendHardwareReport: options.hardwareReportWanted?.(beat.machineId) ?? false,
      reboot: accepted.mayReboot ?? false,
      clockMs: accepted.atMs,
      acceptance: accepted.acceptance ? writeAcceptanceRequest(accepted.acceptance) : null,
    });
  };
  return async ({ caller, body }) => {
    const { key, network } = caller;
    const isKnown = knownKeys.has(key);
    // Agents must not suffer from a bad caller at the same address.
    const mayCall = (isKnown || refusalsOfNetwork.has(network)) && callsOfKey.take(key);
    if (!mayCall) throw new GrpcError(GrpcStatus.resourceExhausted, 'too many calls');
    // Keys cost nothing, addresses do; another limit bounds the number of connections.
    const room = isKnown
      ? agents.enter(key)
      : firstOf(connections.enter(caller), strangers.enter(network));
    try {
      return await answer(caller, await body(room.take));
    } finally {
      room.leave();
    }
  };
}

/** Null if the caller is no known agent. @throws {GrpcError} INVALID_ARGUMENT, UNAVAILABLE … */
type Recorder = (
  beat: HeartbeatRecord,
  received: ReceivedHeartbeat,
  claim: string,
) => Promise<Accepted | null>;

/**
 * Decoding a report is expensive, so it happens for agents only. A heartbeat of a recently accepted
 * agent is recorded with its reports; any other is first recorded without them. So an invalid
 * report never costs an agent its heartbeat.
 */
function createRecorder({ intake, log, clock }: HeartbeatServiceOptions): Recorder {
  // With the key alone, an agent could pose as another machine's agent.
  const known = createRecentSet(KNOWN_MS, clock);
  const record = async (each: HeartbeatRecord, claim: string): Promise<Accepted | null> => {
    const outcome = await intake.record(each, claim).catch((error: unknown) => {
      throw unavailable(error);
    });
    if (outcome.kind === 'unauthenticated') {
      known.delete(claim);
      return null;
    }
    known.add(claim);
    if (outcome.kind === 'invalid') throw invalid(outcome.message);
    return outcome;
  };
  return async (beat, received, claim) => {
    const bare = known.has(claim) ? undefined : await record(beat, claim);
    if (bare === null) return null;
    const { valid, hardwareFault, installationFault, droppedConditions } = readReports(received);
    const hasReports = Object.keys(valid).length > 0;
    const accepted = bare && !hasReports ? bare : await record({ ...beat, ...valid }, claim);
    if (!accepted) return null;
    const { machineId: machine } = beat;
    if (hardwareFault !== null)
      log.warn({ machine, fault: hardwareFault }, 'hardware report dropped');
    if (droppedConditions > 0) {
      log.warn({ machine, dropped: droppedConditions }, 'conditions of an agent dropped');
    }
    if (installationFault !== null) throw invalid(`installation report: ${installationFault}`);
    return accepted;
  };
}

/** Details go to the log of the intake; the caller only learns to retry later. */
function unavailable(error: unknown): GrpcError {
  return error instanceof Throttled
    ? new GrpcError(GrpcStatus.resourceExhausted, 'too many calls', { cause: error })
    : new GrpcError(GrpcStatus.unavailable, 'try again later', { cause: error });
}

function decode(body: Uint8Array): ReceivedHeartbeat {
  try {
    return readHeartbeat(body);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw invalid('the message cannot be read', error);
  }
}

const invalid = (message: string, cause?: unknown) =>
  new GrpcError(GrpcStatus.invalidArgument, message, { cause });

/** The heartbeat without its reports. */
function toBeat({ envelope }: ReceivedHeartbeat, publicKey: Uint8Array): HeartbeatRecord {
  const claimed = readUuid(envelope.machineId ?? '');
  if (claimed === null) throw invalid('machine_id is not a UUID');
  const bootId = envelope.bootId ?? '';
  return { machineId: machineId(claimed), publicKey, bootId: BOOT_ID.test(bootId) ? bootId : null };
}

/**
 * Hands out a stored request only if agents can read it and its generation equals that of its row.
 * The agent reports the inner generation, so with another one it would be asked forever.
 */
function readableRequest(
  { machineId: machine }: HeartbeatRecord,
  { installationRequest, requestGeneration }: Accepted,
  log: Log,
): Uint8Array | null {
  if (!installationRequest) return null;
  try {
    const generation = installationRequestCodec.decode(installationRequest).generation ?? 0n;
    const isRight = requestGeneration === undefined || generation === requestGeneration;
    if (generation >= 1n && isRight) return installationRequest;
    log.error(
      { machine, generation: String(generation) },
      'a stored installation request has the wrong generation',
    );
  } catch (error) {
    log.error({ machine, err: explain(error) }, 'a stored installation request cannot be read');
  }
  return null;
}

export interface IntakeOptions {
  /** Records a batch: {@link HeartbeatStore.recordHeartbeats}. */
  readonly record: HeartbeatStore['recordHeartbeats'];
  readonly clock: Clock;
  readonly batch: BatchOptions;
  readonly limits: Pick<AgentServerLimits, 'waitingMax' | 'refusalMs'>;
}

export interface BatchOptions {
  /**
   * Minimum time between the starts of two batches, unless `enough` heartbeats wait. So a single
   * heartbeat does not wait, and a fleet at its usual rate causes a bounded number of statements
   * per second.
   */
  readonly gapMs: number;
  /** Number of heartbeats that justify a statement at once. */
  readonly enough: number;
  /** Maximum heartbeats in one statement. */
  readonly max: number;
}

const RETRY_AFTER_MS = 1_000;
/**
 * A second batch is sent while the database works on the first: a quarter more throughput. A third
 * adds none.
 */
export const BATCHES_IN_FLIGHT = 2;

export type Intake = ReturnType<typeof createIntake>;

/** Collects heartbeats into batches, and does not send recently refused ones to the store again. */
export function createIntake({ clock, batch, limits, ...options }: IntakeOptions) {
  const refused = createRecentSet(limits.refusalMs, clock);
  let closed = false;
  let nextMs = -Infinity;
  const batcher = createBatcher<{ record: HeartbeatRecord; claim: string }, HeartbeatOutcome>({
    collect: async () => {
      const waitMs = nextMs - clock.monotonic();
      if (waitMs > 0) await sleep(clock, waitMs);
    },
    sizeMax: batch.max,
    sizeEnough: batch.enough,
    concurrency: BATCHES_IN_FLIGHT,
    keyOf: ({ claim }) => claim,
    run: async (claimed) => {
      nextMs = clock.monotonic() + batch.gapMs;
      const outcomes = await options.record(claimed.map(({ record }) => record));
      return outcomes.map((outcome) =>
        outcome.kind === 'unavailable' ? { error: outcome.error } : { ok: outcome },
      );
    },
  });
  return {
    /**
     * Resolves after the commit. @throws {Unreachable} the database is not available.
     * @throws {Throttled} too many heartbeats wait. @throws {Cancelled} the server is closed.
     */
    async record(record: HeartbeatRecord, claim = claimOf(record)): Promise<HeartbeatOutcome> {
      if (closed) throw new Cancelled('the agent server is closing');
      if (refused.has(claim)) return { kind: 'unauthenticated' };
      if (batcher.waiting >= limits.waitingMax) {
        throw new Throttled('too many heartbeats are waiting', clock.now() + RETRY_AFTER_MS);
      }
      const outcome = await batcher.submit({ record, claim });
      if (outcome.kind === 'unauthenticated') refused.add(claim);
      return outcome;
    },
    /** Accepts no more; resolves when everything accepted is answered. */
    async close() {
      closed = true;
      await batcher.flush();
    },
  };
}

/** The caller's claimed machine, with its proved key. @param key in hexadecimal. */
export const claimOf = (
  { machineId, publicKey }: Pick<HeartbeatRecord, 'machineId' | 'publicKey'>,
  key = Buffer.from(publicKey).toString('hex'),
): string => `${machineId}/${key}`;
