import type { Reservation } from '../../adapters/provider/equinix/client/schema.ts';
import { classify, type ReservationClass } from '../../adapters/provider/equinix/mapping.ts';
import { UsageError } from '../../domain/errors.ts';
import { toTable } from '../text-table.ts';
import { type AccessFlags, openAccess, requireUuid } from './access.ts';
import type { Operator } from './operator.ts';
import { withPatience } from './patience.ts';
import type { Outcome } from './report.ts';

export interface ListFlags extends AccessFlags {
  readonly organization?: string | undefined;
  readonly project?: string | undefined;
  /** Gives up after this, milliseconds. */
  readonly timeout: number;
}

/** Reservations that are alike. */
export interface Line extends Record<ReservationClass, number> {
  /** Only where reservations are told apart by project. */
  readonly project?: string;
  readonly metro: string;
  readonly plan: string;
  readonly total: number;
}

/**
 * `shepherd equinix list`: the reservations of an organisation or a project, counted.
 * @throws {UsageError} neither, or both, are named.
 */
export async function listReservations(flags: ListFlags, operator: Operator): Promise<Outcome> {
  const { organization, project } = flags;
  if ((organization === undefined) === (project === undefined)) {
    throw new UsageError('give either --organization or --project');
  }
  if (organization !== undefined) requireUuid('organization', organization);
  const access = openAccess(flags, project ?? organization!, operator);
  const { client, watch } = access;
  try {
    return await withPatience(flags.timeout, operator, watch, read);
  } finally {
    client.stop();
  }

  async function read(signal: AbortSignal): Promise<Outcome> {
    const { items, unread, complete } =
      organization === undefined
        ? await client.listReservations(signal)
        : await client.listOrganizationReservations(organization, signal);
    const first = items[0];
    // Lists of a project do not tell its name; one of its reservations does.
    const { project: named } =
      project !== undefined && first ? await client.getReservation(first.id, signal) : {};
    const nameOf = (each: Reservation) =>
      each.project?.name ?? named?.name ?? each.project?.id ?? project ?? '-';
    const rest = { complete, unread: unread.length, nameOf, nowMs: operator.clock.now() };
    return show(items, rest);
  }
}

function show(
  items: readonly Reservation[],
  options: {
    readonly complete: boolean;
    /** How many are there and cannot be read. */
    readonly unread: number;
    readonly nameOf: (reservation: Reservation) => string;
    readonly nowMs: number;
  },
): Outcome {
  const { complete, unread, nameOf, nowMs } = options;
  const byPlan = count(items, nowMs, kindOf);
  const byProject = count(items, nowMs, (each) => ({ project: nameOf(each), ...kindOf(each) }));
  const warning = [
    ...(complete ? [] : ['The list is not complete: something may be missing.']),
    ...(unread === 0 ? [] : [`${unread} more cannot be read, and are not counted.`]),
  ];
  return {
    text: [
      `${items.length} reservations`,
      ...warning,
      ...(items.length === 0 ? [] : ['', tableOf(byPlan), '', tableOf(byProject)]),
    ].join('\n'),
    json: {
      reservations: items.length,
      complete,
      byPlan,
      byProject,
      ...(unread > 0 && { unreadable: unread }),
    },
    isGood: complete && unread === 0,
  };
}

/** Metro and plan, as they are matched: in small letters. */
export const kindOf = ({ facility, plan }: Reservation) => ({
  metro: (facility?.metro?.code ?? '-').toLowerCase(),
  plan: (plan?.name ?? plan?.slug ?? '-').toLowerCase(),
});

/** How many of each kind, most significant column first. */
export function count(
  items: readonly Reservation[],
  nowMs: number,
  keyOf: (reservation: Reservation) => Pick<Line, 'project' | 'metro' | 'plan'>,
): Line[] {
  const lines = new Map<string, Line>();
  for (const item of items) {
    const key = keyOf(item);
    const id = Object.values(key).join('\0');
    const before = lines.get(id) ?? {
      ...key,
      total: 0,
      available: 0,
      inUse: 0,
      notProvisionable: 0,
    };
    const of = classify(item, nowMs);
    lines.set(id, { ...before, total: before.total + 1, [of]: before[of] + 1 });
  }
  return [...lines.entries()]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, line]) => line);
}

export function tableOf(lines: readonly Line[]): string {
  const withProject = lines.some(({ project }) => project !== undefined);
  const head = ['metro', 'plan', 'total', 'available', 'in use', 'not provisionable'];
  const rows = lines.map(({ project = '-', metro, plan, ...counts }) => {
    const { total, available, inUse, notProvisionable } = counts;
    const numbers = [total, available, inUse, notProvisionable].map(String);
    return [...(withProject ? [project] : []), metro, plan, ...numbers];
  });
  return toTable([withProject ? ['project', ...head] : head, ...rows]);
}
