import { NotFound, UsageError } from '../domain/errors.ts';
import { isUuid, machineId } from '../domain/ids.ts';
import { TIMEOUT_MS, withDatabase } from './database.ts';
import type { DatabaseOptions } from './db.ts';

export interface DeprovisionOptions extends DatabaseOptions {
  readonly machine: string;
  readonly by: string;
  readonly reason: string;
  /** False: only tell. */
  readonly yes: boolean;
}

/**
 * `shepherd machine deprovision`: files the request; a daemon carries it out. Asking twice is asking
 * once.
 * @throws {UsageError} that is no machine id, or a reason is missing.
 * @throws {NotFound} there is no such machine. @throws {NothingToDo} a hold preserves it.
 */
export async function deprovision(options: DeprovisionOptions): Promise<string> {
  const { machine, by, reason, yes } = options;
  if (!isUuid(machine)) {
    throw new UsageError(`"${machine}" is no machine id; an id is a UUID in small letters`);
  }
  if (reason.trim() === '' || by.trim() === '') {
    throw new UsageError('say who asks and why: --by and --reason must not be empty');
  }
  return withDatabase(options, async (bmdb) => {
    const id = machineId(machine);
    const { row } = await bmdb.readMachine(id, AbortSignal.timeout(TIMEOUT_MS));
    if (!row?.provided) throw new NotFound(`there is no machine ${machine} with hardware`);
    const { provider, providerId, reservationId } = row.provided;
    const what = `device ${providerId} of ${provider}, on slot ${reservationId ?? providerId}`;
    if (row.deprovision) {
      return `${machine} (${what}) is on its way: ${row.deprovision.requestedBy} asked for it`;
    }
    if (!yes) return `${machine} would be given back: ${what}; confirm with --yes`;
    await bmdb.requestDeprovision(id, { by, reason });
    return `${machine} is to be given back: ${what}`;
  });
}
