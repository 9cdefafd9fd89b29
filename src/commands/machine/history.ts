import type { EventLine, HistoryLine } from '../../adapters/bmdb/port.ts';
import { NotFound } from '../../domain/errors.ts';
import { isUuid, machineId, providerOf, slotIdOf, type MachineId } from '../../domain/ids.ts';
import { factLines, timeText } from './layout.ts';
import { slotNamed } from './selection.ts';
import type { Means, Told } from './command.ts';
import { jsonLine } from '../text-table.ts';

export interface HistoryOptions {
  /** A machine's id, or a slot: then of all machines that were on it. */
  readonly name: string;
  /** At most so many lines, the latest ones. */
  readonly limit: number;
  readonly json: boolean;
}

/** One thing that happened: to the slot, or of the work on a machine. */
type Line =
  | ({ readonly kind: 'event' } & { readonly event: EventLine })
  | ({ readonly kind: 'work'; readonly machineId: MachineId } & { readonly work: HistoryLine });

/**
 * `shepherd machine history`: what happened to a machine, whoever did it, in the order of time. What
 * is left of it stays when the machine is gone.
 * @throws {UsageError} that is no name. @throws {NotFound} nothing is known of it.
 */
export async function showHistory(options: HistoryOptions, means: Means): Promise<Told> {
  const { name, limit, json } = options;
  const lines = await readLines(name, limit, means);
  if (lines.length === 0) throw new NotFound(`nothing ever happened to ${name}`);
  const text = json
    ? jsonLine({ of: name, lines: lines.map(asJson) })
    : factLines(lines.map(inWords), means.width);
  return { text, exitCode: 0 };
}

async function readLines(name: string, limit: number, means: Means): Promise<Line[]> {
  const { inspection } = means.bmdb;
  const { signal } = means;
  const events = await inspection.events(queryOf(name, limit), signal);
  const ids = isUuid(name) ? [machineId(name)] : await machinesOf(name, events, means);
  const lines: Line[] = events.map((event) => ({ kind: 'event', event }));
  for (const id of ids) {
    const history = await inspection.history(id, signal);
    lines.push(...history.map((work): Line => ({ kind: 'work', machineId: id, work })));
  }
  return lines.toSorted((a, b) => atMsOf(a) - atMsOf(b)).slice(-limit);
}

function queryOf(name: string, limit: number) {
  if (isUuid(name)) return { machineId: machineId(name), limit };
  const slot = slotNamed(name);
  return { provider: providerOf(slot), slotId: slotIdOf(slot), limit };
}

/** Those of the events, and the one that is on the slot now: nothing may have been logged of it. */
async function machinesOf(name: string, events: readonly EventLine[], { bmdb, signal }: Means) {
  const ids = new Set(events.flatMap((event) => event.machineId ?? []));
  const { machines } = await bmdb.scan(signal);
  const slot = slotNamed(name);
  for (const { machineId: id, provided } of machines) {
    if (provided?.provider !== providerOf(slot)) continue;
    if ((provided.reservationId ?? provided.providerId) === slotIdOf(slot)) ids.add(id);
  }
  return [...ids];
}

const atMsOf = (line: Line): number => (line.kind === 'event' ? line.event.atMs : line.work.atMs);

const asJson = (line: Line) =>
  line.kind === 'event'
    ? { of: 'slot', ...line.event }
    : { of: 'work', machineId: line.machineId, ...line.work };

function inWords(line: Line): readonly [string, string] {
  if (line.kind === 'work') {
    const { process, event, cause, component } = line.work;
    const why = cause === null ? '' : `: ${cause}`;
    return [timeText(line.work.atMs), `${component ?? '-'} ${process} ${event}${why}`];
  }
  const { kind, actor, reason, from, to } = line.event;
  const change = from === null && to === null ? '' : `, ${from ?? '-'} → ${to ?? '-'}`;
  const why = reason === '' ? '' : `: ${reason}`;
  return [timeText(line.event.atMs), `${actor} ${kind}${change}${why}`];
}
