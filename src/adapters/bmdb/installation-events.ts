import { plainText } from '../../domain/texts.ts';
import { installationReportCodec } from '../../wire/codec.ts';
import type { HeartbeatRecord } from '../../domain/heartbeat.ts';

/** What the log of a slot has of an installation, beside that it was asked for. */

/** A line of the log, without where. */
export interface InstallationEvent {
  readonly kind: 'installHandedOut' | 'installReported';
  readonly actor: string;
  readonly reason: string;
}

/** Who takes in heartbeats. */
const ACTOR = 'bmsrv';
const ERROR_MAX = 1_000;

/** An agent was told for the first time to install it. */
export const installationHandedOut = (generation: bigint): InstallationEvent => ({
  ...{ kind: 'installHandedOut', actor: ACTOR, reason: `generation ${generation}` },
});

/** An agent told what became of it. */
export function installationReported(
  report: NonNullable<HeartbeatRecord['installationReport']>,
): InstallationEvent {
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
