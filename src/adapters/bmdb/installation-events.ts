import { plainText } from '../../lib/texts.ts';
import { installationReportCodec } from '../../wire/codec.ts';
import type { HeartbeatRecord } from '../../domain/heartbeat.ts';
import { LADDER_RESET_MS, type LossPolicy } from '../../domain/policy.ts';

/** What the log of a slot has of heartbeats: of installations, and of quarantines that they end. */

/** A line of the log, without where. */
export interface HeartbeatEvent {
  readonly kind: 'installHandedOut' | 'installReported' | 'released';
  readonly actor: string;
  readonly reason: string;
}

/** Who takes in heartbeats. */
const ACTOR = 'bmsrv';
const ERROR_MAX = 1_000;

/** A machine that needed a human is well again by itself. */
export function humanNeededNoMore({ ladderResetMs = LADDER_RESET_MS }: LossPolicy): HeartbeatEvent {
  const seconds = Math.round(ladderResetMs / 1_000);
  const span = seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
  const reason = `needsHuman ended: heartbeats without a break for ${span}`;
  return { kind: 'released', actor: ACTOR, reason };
}

/** An agent was told for the first time to install it. */
export const installationHandedOut = (generation: bigint): HeartbeatEvent => ({
  kind: 'installHandedOut',
  actor: ACTOR,
  reason: `generation ${generation}`,
});

/** An agent told what became of it. */
export function installationReported(
  report: NonNullable<HeartbeatRecord['installationReport']>,
): HeartbeatEvent {
  const { generation, result, raw } = report;
  const error = result === 'Error' ? errorOf(raw) : null;
  const reason = `generation ${generation}: ${result}${error === null ? '' : `: ${error}`}`;
  return { kind: 'installReported', actor: ACTOR, reason };
}

/** What an agent says went wrong, on one line; null: nothing that can be read. */
function errorOf(raw: Uint8Array): string | null {
  try {
    const said = installationReportCodec.decode(raw).error?.error ?? '';
    const text = plainText(said.trim().replace(/\s*[\r\n]\s*/g, '; '), ERROR_MAX);
    return text === '' ? null : text;
  } catch {
    return null; // It is kept as it came, and its result is told.
  }
}
