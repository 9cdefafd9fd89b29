import { NotFound, UsageError } from '../../domain/errors.ts';
import { isUuid } from '../../domain/ids.ts';
import { factLines, timeText } from '../machine/layout.ts';
import { jsonLine } from '../text-table.ts';
import type { Explanation, History, Machine, RequestList } from './answers.ts';
import { machineText, whyFacts } from './machine-text.ts';
import { findNamed, named, pathOf } from './names.ts';
import { documentText, isData } from './output.ts';
import { ok, type Session, type Told } from './session.ts';

const LAST_REQUESTS = 10;
/** Of its log, for what its agent said at its start or of an installation. */
const LINES_READ = 1_000;

interface NameFlags {
  readonly exact: boolean;
}

/** `shepherd machine show`: what a person needs to know of one machine, or of a slot without one. */
export async function showMachine(
  name: string,
  { exact }: NameFlags,
  session: Session,
): Promise<Told> {
  const { client, format, width } = session;
  const { slot } = await named(client, name, exact);
  if (format === 'name') return ok(slot);
  const path = pathOf(slot);
  const [machine, explanation, { requests }, { lines }] = await Promise.all([
    client.get<Machine>(path),
    client.get<Explanation>(`${path}/explanation`),
    client.get<RequestList>('/requests', { slot, limit: LAST_REQUESTS }),
    client.get<History>(`${path}/history`, { limit: LINES_READ }),
  ]);
  if (isData(format)) return ok(await documentText({ ...machine, explanation }, format));
  return ok(session.paint(machineText({ machine, explanation, requests, lines }, width)));
}

/** `shepherd machine explain`: why it is where it is, and what would end it. */
export async function explainMachine(
  name: string,
  { exact }: NameFlags,
  session: Session,
): Promise<Told> {
  const { client, format, width } = session;
  const { slot } = await named(client, name, exact);
  if (format === 'name') return ok(slot);
  const found = await client.get<Explanation>(`${pathOf(slot)}/explanation`);
  if (isData(format)) return ok(await documentText({ slot, ...found }, format));
  const { next } = found;
  const facts: (readonly [string, string])[] = [
    ['slot', slot],
    ...whyFacts(found),
    ['next', next.atMs === null ? next.text : `${next.text} (${timeText(next.atMs)})`],
  ];
  return ok(session.paint(factLines(facts, width)));
}

export interface HistoryFlags extends NameFlags {
  /** At most so many lines, the latest ones. */
  readonly limit: number;
}

/**
 * `shepherd machine history`: what happened to it, whoever did it, in the order of time. What is left
 * of it stays when the machine is gone.
 */
export async function showHistory(
  name: string,
  { exact, limit }: HistoryFlags,
  session: Session,
): Promise<Told> {
  const { format, width } = session;
  const { of, lines } = await historyOf(name, { exact, limit }, session);
  if (lines.length === 0) throw new NotFound(`nothing ever happened to ${of}`);
  if (format === 'name') return ok(of);
  if (format === 'ndjson') return ok(lines.map(jsonLine).join('\n'));
  if (isData(format)) return ok(await documentText({ of, lines }, format));
  return ok(session.paint(factLines(lines.map(inWords), width)));
}

/** A name that means nothing now may be that of a machine that is gone, or of a slot that was there. */
async function historyOf(name: string, { exact, limit }: HistoryFlags, { client }: Session) {
  const found = isUuid(name) ? null : await findNamed(client, name, exact);
  const ofMachine = isUuid(name) ? name : null;
  if (ofMachine === null && found === null && !/^[^/]+\/./.test(name)) {
    throw new UsageError(
      `"${name}" is neither a machine's id (a UUID in small letters) nor a slot (<provider>/<slot id>)`,
    );
  }
  const of = ofMachine ?? found?.slot ?? name;
  const answer =
    ofMachine === null
      ? await client.get<History>(`${pathOf(of)}/history`, { limit })
      : await client.get<History>('/history', { machine: ofMachine, limit });
  return { of, lines: answer.lines.toReversed() };
}

function inWords(line: History['lines'][number]): readonly [string, string] {
  const { of, kind, process, actor, from, to, reason } = line;
  const what = of === 'work' ? `${process} ${kind}` : kind;
  const change = from === null && to === null ? '' : `, ${from ?? '-'} → ${to ?? '-'}`;
  const why = reason === '' ? '' : `: ${reason}`;
  return [timeText(line.atMs), `${actor ?? '-'} ${what}${change}${why}`];
}
