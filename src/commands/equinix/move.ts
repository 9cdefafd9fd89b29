import { idOf, type Reservation } from '../../adapters/provider/equinix/client/schema.ts';
import { UsageError } from '../../domain/errors.ts';
import { type AccessFlags, openAccess, requireUuid } from './access.ts';
import { agrees, type ConsentFlags, requireWayToAsk } from './consent.ts';
import { count, kindOf, tableOf } from './list.ts';
import type { Operator } from './operator.ts';
import { carryOutAll, declined, type Outcome, outcomeOf, planned, unreadText } from './report.ts';

export interface MoveFlags extends AccessFlags, ConsentFlags {
  readonly source: string;
  readonly target: string;
}

/** `shepherd equinix move`: all reservations of a project to another one. */
export async function moveReservations(flags: MoveFlags, operator: Operator): Promise<Outcome> {
  const { source, target } = flags;
  requireWayToAsk(flags, operator);
  requireUuid('project', target);
  if (source === target) throw new UsageError('source and target are the same project');
  const { client } = openAccess(flags, source, operator);
  const { signal, clock } = operator;
  try {
    const { items, unread } = await client.listReservations(signal, { insist: true });
    unreadText('reservation', unread).forEach((line) => operator.note(line));
    const meant = items.filter(({ project }) => idOf(project) !== target).map(subjectOf);
    const more = { source, target };
    if (meant.length === 0) return outcomeOf([], more);
    const lines = [
      tableOf(count(items, clock.now(), kindOf)),
      `reservations to be moved from project ${source} to ${target}: ${meant.length}`,
    ];
    if (flags.dryRun) {
      lines.forEach((line) => operator.note(line));
      return outcomeOf(meant.map(planned), more);
    }
    const size = meant.length;
    const prompt = 'Type the number of reservations to move them:';
    const question = { lines, prompt, answer: String(size), count: size };
    if (!(await agrees(question, flags, operator))) return declined(more);
    const moved = await carryOutAll(
      meant,
      async ({ id }, step) => {
        await client.moveReservation(id, target, signal);
        step('moved');
      },
      operator,
    );
    return outcomeOf(moved, more);
  } finally {
    client.stop();
  }
}

const subjectOf = (reservation: Reservation) => {
  const { metro, plan } = kindOf(reservation);
  return { id: reservation.id, name: `${metro} ${plan}` };
};
