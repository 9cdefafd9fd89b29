import type { CaseRepository } from '../../adapters/bmdb/port.ts';
import { withTimeLimit } from '../../adapters/clock/port.ts';
import type { ShellSession } from '../../adapters/ssh/port.ts';
import { CASE_RULE, type EvidenceKind } from '../../domain/cases.ts';
import { CommandFailed, explain } from '../../domain/errors.ts';
import { slotIdOf } from '../../domain/ids.ts';
import type { SlotFacts } from '../../domain/machine.ts';
import { withoutSecrets } from '../../lib/secret-texts.ts';
import { BOOT_ID, NOTHING, targetOf, type Claimed, type TaskDeps } from './task.ts';

/** What a machine tells about its failure, for the people who repair it. */
export interface EvidenceDeps extends TaskDeps {
  readonly cases: Pick<CaseRepository, 'addLine' | 'lines'>;
  /** Estimate of the database clock, epoch ms. */
  readonly nowMs: () => number;
}

interface VisitDeps extends Pick<EvidenceDeps, 'cases' | 'nowMs' | 'shell' | 'clock' | 'log'> {
  readonly ssh: Pick<TaskDeps['ssh'], 'port'>;
}
/** The machine, claimed or not. */
interface Examined extends Pick<Claimed, 'slot' | 'row' | 'provided' | 'signal'> {
  readonly deps: Pick<VisitDeps, 'cases' | 'nowMs' | 'clock' | 'log'>;
}

type Shell = Pick<ShellSession, 'execute'>;

const KERNEL_LOG = ['journalctl', '-k', '-n', '200', '--no-pager'];
const PSTORE = `for file in /sys/fs/pstore/*; do
  [ -f "$file" ] && echo "$file:" && head -c 4096 "$file" && echo
done; true`;
/** Commands in order; the second of a pair runs if the first one fails. */
const COMMANDS: Readonly<Record<EvidenceKind, readonly (readonly (readonly string[])[])[]>> = {
  'evidence-before': [
    [['cat', BOOT_ID]],
    [KERNEL_LOG, ['sh', '-c', 'dmesg | tail -n 200']],
    [['uptime']],
    [['systemctl', '--failed', '--no-legend']],
  ],
  'evidence-after': [
    [['cat', BOOT_ID]],
    [['journalctl', '-k', '-b', '-1', '-n', '200', '--no-pager']],
    [['sh', '-c', PSTORE]],
  ],
};
/** For all commands together, with the records. */
const LIMIT_MS = 20_000;
const COMMAND_LIMIT_MS = 4_000;
const OUTPUT_MAX = 16_384;
/** Only the end of an output is searched for secrets. */
const READ_MAX = 4 * OUTPUT_MAX;
/** Evidence is recorded this long before its episode at most, because a request begins the episode. */
const AHEAD_MS = 10 * 60_000;

/**
 * Takes evidence from a drained machine, which recovery does not visit, if its host key is pinned.
 * Only reads there, so it needs no claim. Never fails.
 */
export async function visitForEvidence(
  deps: VisitDeps,
  { slot, row, listed }: SlotFacts,
  signal: AbortSignal,
): Promise<void> {
  if (!row?.provided || row.hostKey === null || listed?.ownership !== 'ours') return;
  const given = { deps, slot, row, provided: row.provided, signal };
  try {
    const shell = await deps.shell.connect(targetOf(given, listed), signal);
    if (shell.hostKey === row.hostKey) await takeEvidence(given, 'evidence-before', shell);
    shell.close();
  } catch (err) {
    deps.log.info({ slot, err }, 'the machine could not be visited for evidence');
  }
}

/**
 * Takes evidence over a connection to the proved machine, once in an episode of recovery. Takes at
 * most 20 s, and never fails.
 */
export async function takeEvidence(
  given: Examined,
  kind: EvidenceKind,
  shell: Shell,
): Promise<void> {
  const { deps, slot, signal } = given;
  const limit = { ms: LIMIT_MS, what: `take evidence from ${slot}`, signal };
  try {
    await withTimeLimit(deps.clock, limit, (within) =>
      recordEvidence({ ...given, signal: within }, kind, shell),
    );
  } catch (err) {
    deps.log.info({ slot, err }, 'no evidence could be taken');
  }
}

async function recordEvidence(given: Examined, kind: EvidenceKind, shell: Shell): Promise<void> {
  const { deps, slot, row, provided, signal } = given;
  const place = { provider: provided.provider, slotId: slotIdOf(slot) };
  const [beganAtMs] = row.slot.isRecovering ? row.slot.episodes : [];
  const sinceMs = (beganAtMs ?? deps.nowMs()) - AHEAD_MS;
  const taken = await deps.cases.lines({ ...place, sinceMs, untilMs: null }, signal);
  if (taken.some((line) => line.kind === kind)) return;
  const answers: string[] = [];
  for (const commands of COMMANDS[kind]) {
    for (const command of commands) {
      const { text, isGood } = await answerTo(given, command, shell);
      answers.push(`$ ${command.join(' ')}`, text, '');
      if (isGood) break;
    }
  }
  await deps.cases.addLine({ ...place, kind, author: CASE_RULE, text: answers.join('\n') });
}

/** The end of a command's output without secrets, or why there is none. */
async function answerTo(
  { deps, slot, signal }: Examined,
  command: readonly string[],
  shell: Shell,
): Promise<{ readonly text: string; readonly isGood: boolean }> {
  const limit = { ms: COMMAND_LIMIT_MS, what: `read the logs of ${slot}`, signal };
  try {
    const { stdout } = await withTimeLimit(deps.clock, limit, (within) =>
      shell.execute(command, NOTHING, within),
    );
    const end = stdout.subarray(-READ_MAX).toString('utf8');
    const text = withoutSecrets(end).trimEnd().slice(-OUTPUT_MAX);
    return { text, isGood: true };
  } catch (error) {
    const told =
      error instanceof CommandFailed
        ? `${Buffer.from(error.stderr).toString().trimEnd()} (${error.signalName ?? `exit code ${error.exitCode}`})`
        : `(${explain(error)})`;
    const why = withoutSecrets(told);
    return { text: why.slice(-OUTPUT_MAX), isGood: false };
  }
}
