import { randomUUID } from 'node:crypto';
import type {
  Bmdb,
  BmdbSession,
  NewRequest,
  RequestedThing,
  RequestState,
  RequestTarget,
} from '../../src/adapters/bmdb/port.ts';
import { isUuid } from '../../src/domain/ids.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import type { DrainMode, MachineRow } from '../../src/domain/machine.ts';

/** The machine at its present place; it must have hardware. */
export const targetOf = ({ machineId, provided }: MachineRow): RequestTarget => ({
  provider: provided!.provider,
  slotId: provided!.reservationId ?? provided!.providerId,
  machineId,
});

/** A request by Ann, with its own key unless one is given. */
export const requestFor = (
  what: RequestedThing,
  change: Partial<Omit<NewRequest, 'what'>> = {},
): NewRequest => ({ key: randomUUID(), by: 'ann', reason: 'no longer needed', what, ...change });

/** Submits a request and applies it. @returns its state then; null: it stays open. */
export async function ask(
  bmdb: Bmdb,
  session: BmdbSession,
  request: NewRequest,
): Promise<RequestState | null> {
  const { key } = await bmdb.requests.submit(request);
  return session.applyRequest(key);
}

interface GivingBack {
  readonly drain?: DrainMode;
  readonly returnToPool?: boolean;
}

/** Requests to give back a machine that has hardware. */
export async function askToGiveBack(
  bmdb: Bmdb,
  session: BmdbSession,
  id: MachineId,
  { drain, returnToPool, ...how }: Partial<Omit<NewRequest, 'what'>> & GivingBack = {},
): Promise<RequestState | null> {
  const row = isUuid(id) ? (await bmdb.readMachine(id, AbortSignal.timeout(240_000))).row : null;
  const target = row ? targetOf(row) : { ...NOWHERE, machineId: id };
  return ask(
    bmdb,
    session,
    requestFor(
      {
        verb: 'deprovision',
        target,
        ...(drain && { drain }),
        ...(returnToPool !== undefined && { returnToPool }),
      },
      how,
    ),
  );
}

const NOWHERE = { provider: 'metal' as RequestTarget['provider'], slotId: 'nowhere' };
