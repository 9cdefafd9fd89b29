import { isProviderError, ProviderError } from '../../../../domain/errors.ts';
import type { DriverContext } from '../../port.ts';
import type { Bmc } from '../client/bmc.ts';
import { readSystem } from '../client/system.ts';
import type { BmcEntry } from '../entries.ts';
import { setIdIn } from '../owner-mark.ts';

interface Looked {
  readonly all: readonly BmcEntry[];
  readonly bmcOf: (entry: BmcEntry) => Bmc;
}

/** For all looks together. */
const LOOKS_MS = 15_000;

/**
 * Looks for machines that carry our mark while nothing is recorded. Where the wrong database is
 * configured most of them do, so those that answer in time are enough to tell.
 * @throws {ProviderError} `conflict`: there are such machines. `aborted`: by the signal.
 */
export async function refuseStrayMarks(
  { all, bmcOf }: Looked,
  { clock, log, name, instanceSetId }: DriverContext,
  signal: AbortSignal,
): Promise<void> {
  const late = new AbortController();
  const timer = clock.setTimeout(() => late.abort(new Error('no time left')), LOOKS_MS);
  const until = AbortSignal.any([signal, late.signal]);
  const looks = await Promise.all(all.map(look)).finally(() => clock.clearTimeout(timer));
  if (signal.aborted) throw new ProviderError('aborted', 'aborted while marks were looked for');
  const untold = looks.filter((isOurs) => isOurs === null).length;
  if (untold > 0) {
    const fields = { provider: name, machines: all.length, untold };
    log.warn(fields, 'not all machines told whether they carry a mark');
  }
  const marked = all.filter((_, index) => looks[index] === true);
  if (marked.length === 0) return;
  const message =
    `${marked.length} machines carry our mark, such as ${marked[0]!.id}, and nothing is recorded of ` +
    'any: this is not the database that they are claimed in';
  throw new ProviderError('conflict', message);

  /** Null: its BMC does not tell. */
  async function look(entry: BmcEntry): Promise<boolean | null> {
    const bmc = bmcOf(entry);
    try {
      const system = await bmc.inTurn({ signal: until }, (wire) =>
        readSystem(bmc, wire, entry.system, clock.monotonic()),
      );
      return setIdIn(system.assetTag) === instanceSetId;
    } catch (error) {
      if (!isProviderError(error)) throw error;
      return null;
    }
  }
}
