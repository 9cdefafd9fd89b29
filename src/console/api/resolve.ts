import { z } from 'zod';
import type { Slot } from '../../domain/ids.ts';
import type { MachineIndex } from '../index/machine-index.ts';
import type { Row, Sort } from '../index/row.ts';
import type { FleetView } from '../port.ts';
import { read, type Api } from './kit.ts';
import { listOf, text } from './schemas.ts';
import { requireWhole } from './whole.ts';

/** Shorter beginnings stand for too many machines. */
export const PREFIX_MIN = 4;
/** So many are told of a name that several have. */
export const CANDIDATES_MAX = 10;

export const ResolutionSchema = z.object({
  machines: listOf(
    z.object({
      slot: text,
      machineId: text.nullable(),
      by: z
        .enum(['slot', 'machine', 'device', 'address', 'hostname'])
        .describe('What the name is of it.'),
      whole: z.boolean().describe('The name is the whole one, not its beginning.'),
    }),
  ).describe('One: that is meant. None: nothing has the name. Several: it is not clear.'),
  more: z.boolean().describe('Others have it too.'),
});
type Found = z.output<typeof ResolutionSchema>['machines'][number];

/** `resolve?name=`: the machine with this slot, id, address or host name, or whose id begins so. */
export function addResolve(api: Api, fleet: FleetView, index: MachineIndex): void {
  api.get(
    '/resolve',
    read('machines', 'The machine of a name', ResolutionSchema, {
      querystring: z.strictObject({ name: text.min(1).max(300) }),
    }),
    async ({ query: { name } }) => {
      const found = await resolve(name, fleet, index);
      return { machines: found.slice(0, CANDIDATES_MAX), more: found.length > CANDIDATES_MAX };
    },
  );
}

const EVERYTHING = { terms: [] } as const;

/** Whole names win over beginnings. @throws {Problem} not all machines are known yet. */
async function resolve(name: string, fleet: FleetView, index: MachineIndex): Promise<Found[]> {
  const whole = index.row(name as Slot);
  if (whole) return [found(whole, 'slot', true)];
  // A beginning that seems unique may be that of a machine which is not known yet, too.
  requireWhole(fleet);
  const bySlot = await index.listing(EVERYTHING, 'slot');
  const prefixed = new Map<Slot, Found>();
  const add = (row: Row, by: Found['by'], text: string) => {
    const known = prefixed.get(row.slot);
    if (!known?.whole) prefixed.set(row.slot, found(row, by, text === name));
  };
  const providers = new Set(
    name.includes('/') ? [''] : fleet.providers().map((each) => `${each}/`),
  );
  for (const provider of providers) {
    const begins = `${provider}${name}`;
    for (const row of bySlot.rows.slice(bySlot.rows.rank({ key: 0, name: begins }, false), 11)) {
      if (row.slot.startsWith(begins)) add(row, 'slot', row.slot.slice(provider.length));
    }
  }
  for (const by of ['machine', 'device'] as const) {
    const { rows } = await index.listing(EVERYTHING, by satisfies Sort);
    for (const row of rows.slice(rows.rank({ key: name, name: '' }, false), 11)) {
      const text = textBy(row, by) ?? '';
      if (text.startsWith(name)) add(row, by, text);
    }
  }
  const hostname = name.toLowerCase();
  for (const row of bySlot.rows.slice(0, bySlot.rows.size)) {
    if (isAddress(row.entry.view.address, name)) add(row, 'address', name);
    else if (fleet.facts(row.slot)?.listed?.hostname?.toLowerCase() === hostname) {
      add(row, 'hostname', name);
    }
  }
  const all = [...prefixed.values()];
  const exact = all.filter((each) => each.whole);
  if (exact.length > 0) return exact;
  return name.length < PREFIX_MIN ? [] : all;
}

const textBy = ({ entry: { view } }: Row, by: 'machine' | 'device') =>
  ({ machine: view.machineId, device: view.providerId })[by];

/** With its port or without. */
const isAddress = (address: string | null, name: string): boolean =>
  address !== null &&
  address.includes(name) &&
  (address === name || address.startsWith(name.includes(':') ? `[${name}]` : `${name}:`));

const found = ({ slot, entry }: Row, by: Found['by'], whole: boolean): Found => ({
  slot,
  machineId: entry.view.machineId,
  by,
  whole,
});
