import { explain } from '../../../domain/errors.ts';
import type { Clock } from '../../clock/port.ts';
import type { Call } from '../../http/call.ts';
import { isApiError } from '../../http/errors.ts';
import type { Log } from '../../log/port.ts';
import type { SweepReport } from '../port.ts';
import { SCRIPT_KEPT_MS } from './changes.ts';
import type { LatitudeConfig } from './project-config.ts';
import type { MarkRecord } from './ownership.ts';
import type { RecordWriter } from './record-writer.ts';
import type { Inventory, Stock } from './stock.ts';
import type { StoredRecord } from './stored-records.ts';

export interface SweepingDeps {
  readonly stock: Pick<Stock, 'take'>;
  readonly writer: RecordWriter;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
}

/** Of a listing so many scripts are cut out at most: the next one is soon, and writes are scarce. */
const CUTS_OF_A_LISTING = 4;
const LEFTOVER_AGE_MS = 3_600_000;

/** Takes first-boot scripts, which hold a secret, out of records, and removes records that count no more. */
export function createSweeping(config: LatitudeConfig, deps: SweepingDeps) {
  const { stock, writer, clock, log } = deps;

  /** The machine has booted long ago, so nothing needs the script any more. */
  const spent = ({ owned }: Inventory): MarkRecord[] =>
    owned.flatMap(({ server, owner }) => {
      if (owner.kind !== 'ours' || server.status !== 'on') return [];
      const { mark, writtenAtMs } = owner.record;
      const isOld = clock.now() - writtenAtMs >= SCRIPT_KEPT_MS;
      return mark.hasScript && isOld ? [owner.record] : [];
    });

  /** Nothing is concluded from what may have been left out. */
  function leftovers({ owned, records, complete, unreadable }: Inventory): StoredRecord[] {
    if (!complete || unreadable.length > 0) return [];
    const counting = new Set(
      owned.flatMap(({ owner }) => (owner.kind === 'ours' ? owner.record.id : [])),
    );
    const disputed = new Set(
      owned.flatMap(({ server, owner }) =>
        owner.kind === 'ours' ? [] : server.hostname!.toLowerCase(),
      ),
    );
    return records.all.filter(
      ({ id, set, hostname, writtenAtMs }) =>
        set === config.instanceSetId &&
        hostname.startsWith(config.namePrefix) &&
        !counting.has(id) &&
        !disputed.has(hostname) &&
        clock.now() - writtenAtMs >= LEFTOVER_AGE_MS,
    );
  }

  const cut = (call: Call, { id }: MarkRecord): Promise<boolean> =>
    writer.change(call, id, (mark) => mark, 'cut');

  return {
    async sweep(call: Call, dryRun: boolean): Promise<SweepReport> {
      const inventory = await stock.take(call);
      const scripts = spent(inventory);
      const left: StoredRecord[] = [];
      for (const record of dryRun ? [] : scripts) await cut(call, record);
      for (const record of leftovers(inventory)) {
        // A creation may have taken it up again while others went.
        if (dryRun || (await writer.removeIfAsRead(call, record))) left.push(record);
      }
      return {
        removed: [
          ...scripts.map(({ id }) => ({ kind: 'first-boot-script', id })),
          ...left.map(({ id }) => ({ kind: 'user-data', id })),
        ],
      };
    },
    /** A few scripts after each listing, so that none stays for long. What fails is tried again. */
    async cutSome(call: Call, inventory: Inventory): Promise<void> {
      for (const record of spent(inventory).slice(0, CUTS_OF_A_LISTING)) {
        try {
          await cut(call, record);
        } catch (error) {
          if (isApiError(error, 'Cancelled')) return;
          const fields = { provider: config.name, record: record.id, cause: explain(error) };
          log.warn(fields, 'a first-boot script is left in its record');
          return;
        }
      }
    },
  };
}
