import { z } from 'zod';
import { slot } from '../../domain/ids.ts';
import type { FleetView, MachineEntry } from '../port.ts';
import type { Api } from './kit.ts';
import { machineDetail } from './machine-detail.ts';
import { etagOf } from './machine-row.ts';
import { MachineSchema } from './machine-schema.ts';
import { Problem } from './problem.ts';

export const MachineParams = z.object({ provider: z.string(), slot: z.string() });

/** @throws {Problem} nothing is on the slot, and no provider lists it. */
export function requireMachine(
  fleet: Pick<FleetView, 'entries'>,
  params: z.output<typeof MachineParams>,
): MachineEntry {
  const name = slot(params.provider, params.slot);
  const entry = fleet.entries.get(name);
  if (!entry) throw new Problem('not-found', `No machine has slot ${name}`);
  return entry;
}

/** `machines/{provider}/{slot}`: one machine, whole. */
export function addMachine(api: Api, fleet: FleetView): void {
  api.get(
    '/machines/:provider/:slot',
    {
      config: { right: 'see' },
      schema: {
        tags: ['machines'],
        summary: 'One machine',
        params: MachineParams,
        headers: z.object({ 'if-none-match': z.string().optional() }),
        response: { 200: MachineSchema, 304: z.null().describe('It has the ETag that was sent.') },
      },
    },
    async (request, reply) => {
      const entry = requireMachine(fleet, request.params);
      const etag = etagOf(entry, fleet);
      // Unlike everything else of the console it may be kept, as long as it is asked about each time.
      reply.header('etag', etag).header('cache-control', 'private, no-cache');
      if (isNamed(request.headers['if-none-match'], etag)) return reply.code(304).send(null);
      return machineDetail(entry, fleet);
    },
  );
}

const isNamed = (header: string | undefined, etag: string): boolean =>
  header !== undefined &&
  header.split(',').some((each) => each.trim().replace(/^W\//, '') === etag || each.trim() === '*');
