import { plainText } from '../../lib/texts.ts';
import { installationReportCodec } from '../../wire/codec.ts';
import type { HeartbeatRecord } from '../../domain/heartbeat.ts';
import { LADDER_RESET_MS, type LossPolicy } from '../../domain/policy.ts';

/** Lines of a slot's log that heartbeats cause: about installations, and quarantines that end. */

/** A log line without its slot. */
export interface HeartbeatEvent {
  readonly kind: 'installHandedOut' | 'installReported' | 'released';
  readonly actor: string;
  readonly reason: string;
}

/** Component that receives heartbeats. */
const ACTOR = 'bmsrv';
const ERROR_MAX = 1_000;

/** The machine has recovered without the human that it needed. */
export function humanNeededNoMore({ ladderResetMs = LADDER_RESET_MS }: LossPolicy): HeartbeatEvent {
  const seconds = Math.round(ladderResetMs / 1_000);
  const span = seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
  const reason = `needsHuman ended: heartbeats without a break for ${span}`;
  return { kind: 'released', actor: ACTOR, reason };
}

/** An agent was told for the first time to install the image. */
export const installationHandedOut = (generation: bigint): HeartbeatEvent => ({
  kind: 'installHandedOut',
  actor: ACTOR,
  reason: `generation ${generation}`,
});

/** An agent reported the result of the installation. */
export function installationReported(
  report: NonNullable<HeartbeatRecord['installationReport']>,
): HeartbeatEvent {
  const { generation, result, raw } = report;
  const error = result === 'Error' ? errorOf(raw) : null;
  const reason = `generation ${generation}: ${result}${error === null ? '' : `: ${error}`}`;
  return { kind: 'installReported', actor: ACTOR, reason };
}

/** The agent's error message on one line; null if there is none that can be read. */
function errorOf(raw: Uint8Array): string | null {
  try {
    const said = installationReportCodec.decode(raw).error?.error ?? '';
    const text = plainText(said.trim().replace(/\s*[\r\n]\s*/g, '; '), ERROR_MAX);
    return text === '' ? null : text;
  } catch {
    return null; // The raw report is stored unchanged, and its result is used.
  }
}
