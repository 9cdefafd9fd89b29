import { UsageError } from '../../domain/errors.ts';
import { columnLines, paragraph } from '../layout.ts';
import type { Preview } from './answers.ts';
import { Refused } from './failures.ts';
import { commonOf, type AskBody, type AskFlags } from './filing.ts';
import { documentText, isData } from './output.ts';
import type { Session, Told } from './session.ts';

/** What is asked of it, told and not done. */
export interface Foretelling {
  /** Of several: how many the person says they are. */
  readonly expectCount?: number | undefined;
  readonly isBulk: boolean;
}

/** Tells what would become of it; files nothing. */
export async function foretell(
  body: AskBody,
  flags: AskFlags & Foretelling,
  session: Session,
): Promise<Told> {
  const { format } = session;
  const preview = await previewOf(body, flags, session);
  if (isData(format)) return { text: await documentText(preview, format), exitCode: 0 };
  if (format === 'name') {
    return { text: preview.machines.map(({ slot }) => slot).join('\n'), exitCode: 0 };
  }
  return { text: session.paint(previewText(preview, flags, session.width)), exitCode: 0 };
}

/** @throws {UsageError} another number of machines is meant. */
export async function previewOf(
  body: AskBody,
  flags: AskFlags & Foretelling,
  { client, uuid }: Session,
): Promise<Preview> {
  const { expectCount } = flags;
  const preview = await client.send<Preview>('POST', '/requests', {
    body: { ...body, ...commonOf(flags) },
    query: { dryRun: 'true' },
    headers: { 'idempotency-key': uuid() },
  });
  if (expectCount !== undefined) requireCount(preview.count, expectCount);
  return preview;
}

const meant = (count: number): string =>
  `${count} ${count === 1 ? 'machine is' : 'machines are'} meant`;

/** @throws {UsageError} */
export function requireCount(count: number, expected: number | undefined): void {
  if (count === expected) return;
  throw new UsageError(
    expected === undefined
      ? `${meant(count)}; confirm with --expect-count ${count}, or see which with --dry-run`
      : `${meant(count)}, not ${expected} as --expect-count says; nothing was done`,
  );
}

function previewText(preview: Preview, { isBulk }: Foretelling, width: number): string {
  const { would, lost, isDestroying, machines, count, refusals, waits } = preview;
  const confirm = [
    ...(isBulk ? [`--expect-count ${count}`] : []),
    ...(isDestroying ? ['--yes'] : []),
  ].join(' ');
  const head = `would ${would ?? `be asked for: ${preview.verb}`}${lost === null ? '' : `; ${lost}`}:`;
  const lines = columnLines(
    machines.map(({ slot, state, substate }) => [
      `    ${slot}`,
      state === null ? 'nothing is recorded of it' : `${state} · ${substate}`,
    ]),
  );
  const reasons = [
    ...refusals.map(({ reason, count: of }) => `REFUSED for ${of}: ${reason}`),
    ...waits.map(({ reason, count: of }) => `${of} would wait: ${reason}`),
  ];
  const more = count > machines.length ? [`    and ${count - machines.length} more`] : [];
  const how = confirm === '' ? '' : `; confirm with ${confirm}`;
  return [
    paragraph(head, width),
    ...(machines.length === 0 ? [] : lines),
    ...more,
    ...reasons.map((each) => paragraph(each, width)),
    `nothing was done${how}`,
  ].join('\n');
}

/** A problem of the API in the words of the command line. */
export function inOwnWords(error: unknown): unknown {
  if (!(error instanceof Refused) || error.code !== 'changed') return error;
  const { count } = (error.problem['current'] ?? {}) as { readonly count?: number };
  if (count === undefined) return error;
  return new UsageError(`${meant(count)}, not as many as --expect-count says; nothing was done`);
}
