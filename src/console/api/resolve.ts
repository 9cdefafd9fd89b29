import { z } from 'zod';
import type { Slot } from '../../domain/ids.ts';
import type { MachineIndex } from '../index/machine-index.ts';
import type { Row } from '../index/row.ts';
import type { FleetView } from '../port.ts';
import { read, type Api } from './kit.ts';
import { listOf, text } from './schemas.ts';
import { requireWhole } from './whole.ts';

/** A shorter prefix matches too many machines. */
export const PREFIX_MIN = 4;
/** Maximum candidates listed for an ambiguous name. */
export const CANDIDATES_MAX = 10;

export const ResolutionSchema = z.object({
  machines: listOf(
    z.object({
      slot: text,
      machineId: text.nullable(),
      by: z
        .enum(['slot', 'machine', 'device', 'address', 'hostname'])
        .describe('The kind of name that matches.'),
      whole: z.boolean().describe('Whether the whole name matches, not only its beginning.'),
    }),
  ).describe(
    'One machine: the name is unique. None: no machine has it. Several: the name is ambiguous.',
  ),
  more: z.boolean().describe('More machines match.'),
});
type ResolvedMachine = z.output<typeof ResolutionSchema>['machines'][number];

/** `resolve?name=`: the machine with this slot, id, prefix of an id, address or host name. */
export function addResolve(api: Api, fleet: FleetView, index: MachineIndex): void {
  api.get(
    '/resolve',
    read('machines', 'Find a machine by a name', ResolutionSchema, {
      querystring: z.strictObject({ name: text.min(1).max(300) }),
    }),
    async ({ query: { name } }) => {
      const found = await resolve(name, fleet, index);
      return { machines: found.slice(0, CANDIDATES_MAX), more: found.length > CANDIDATES_MAX };
    },
  );
}

const EVERYTHING = { terms: [] } as const;

/** Exact names win over prefixes. @throws {Problem} not all machines are known yet. */
async function resolve(
  name: string,
  fleet: FleetView,
  index: MachineIndex,
): Promise<ResolvedMachine[]> {
  const exact = index.row(name as Slot);
  if (exact) return [found(exact, 'slot', true)];
  // A prefix that seems unique may also match a machine that is not known yet.
  requireWhole(fleet);
  const { rows } = await index.listing(EVERYTHING, 'slot');
  const all: ResolvedMachine[] = [];
  for (const row of rows.slice(0, rows.size)) {
    const names = namesOf(row, fleet, name.includes('/'));
    const whole = names.find(([, text]) => text === name) ?? elsewhere(row, fleet, name);
    const begun = whole ?? names.find(([, text]) => text?.startsWith(name));
    if (begun) all.push(found(row, begun[0], whole !== undefined));
  }
  const wholes = all.filter((each) => each.whole);
  if (wholes.length > 0) return wholes;
  return name.length < PREFIX_MIN ? [] : all;
}

type Name = readonly [by: ResolvedMachine['by'], text: string | null];

/** Names of which a prefix is enough; the slot without its provider, unless that is named. */
function namesOf(
  { slot, entry: { view } }: Row,
  fleet: Pick<FleetView, 'providers'>,
  isFull: boolean,
): Name[] {
  const isKnown = fleet.providers().includes(view.provider);
  const own = isKnown ? slot.slice(view.provider.length + 1) : null;
  return [
    ['slot', isFull ? slot : own],
    ['machine', view.machineId],
    ['device', view.providerId],
  ];
}

/** Names that must match exactly. */
function elsewhere(
  { slot, entry: { view } }: Row,
  fleet: Pick<FleetView, 'facts'>,
  name: string,
): Name | undefined {
  if (isAddress(view.address, name)) return ['address', name];
  const hostname = fleet.facts(slot)?.listed?.hostname?.toLowerCase();
  return hostname === name.toLowerCase() ? ['hostname', name] : undefined;
}

/** With or without its port. */
const isAddress = (address: string | null, name: string): boolean =>
  address !== null &&
  address.includes(name) &&
  (address === name || address.startsWith(name.includes(':') ? `[${name}]` : `${name}:`));

const found = (
  { slot, entry }: Row,
  by: ResolvedMachine['by'],
  whole: boolean,
): ResolvedMachine => ({ ...{ slot, machineId: entry.view.machineId, by, whole } });
