import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { watchFleet, type WatchDeps } from '../../../src/console/watch.ts';
import { EMPTY } from '../scripted-console.ts';

/** What a console keeps of a fleet. */
export const watched = (of: Pick<WatchDeps, 'fleet' | 'clock'>) =>
  watchFleet({
    ...{ ...of, log: silentLog, version: '0', events: EMPTY.events },
    onDropped: () => undefined,
  });

interface Rows {
  readonly upserts: readonly { readonly slot: string }[];
  readonly removed: readonly string[];
  readonly order?: readonly string[];
  readonly heard?: Readonly<Record<number, number>>;
  readonly atMs?: number;
  readonly total: number;
}

/** The page's model of a stream: its window, and the id for reconnecting. */
export function createPageModel() {
  const rows = new Map<string, object>();
  let order: readonly string[] = [];
  let total = -1;
  let lastId: string | null = null;

  const take = (text: string) => {
    const fields = new Map(
      text.split('\n').map((line) => {
        const at = line.indexOf(': ');
        return [line.slice(0, at), line.slice(at + 2)] as const;
      }),
    );
    const type = fields.get('event');
    if (type === 'hello') {
      const { resume } = JSON.parse(fields.get('data')!) as { resume: string };
      if (resume === 'full') rows.clear();
      if (resume === 'full') [order, total] = [[], -1];
    }
    if (type === 'rows' || type === 'list') {
      const told = JSON.parse(fields.get('data')!) as Partial<Rows>;
      for (const row of told.upserts ?? []) rows.set(row.slot, row);
      for (const slot of told.removed ?? []) rows.delete(slot);
      order = told.order ?? order;
      for (const [place, agoMs] of Object.entries(told.heard ?? {})) {
        const name = order[Number(place)]!;
        rows.set(name, { ...rows.get(name), lastHeartbeatAtMs: told.atMs! - agoMs });
      }
      total = told.total ?? total;
    }
    lastId = fields.get('id') ?? lastId;
  };
  /** A connection that accepts messages until it is cut. */
  const connect = () => {
    const response = Object.assign(new EventEmitter(), {
      writableLength: 0,
      destroyed: false,
      writeHead: () => undefined,
      write: (text: string) => {
        for (const message of text.split('\n\n')) take(message);
      },
      end: () => response.emit('close'),
      destroy: () => response.emit('close'),
    });
    return response as unknown as ServerResponse;
  };
  return {
    connect,
    lastId: () => lastId,
    window: () => ({ total, rows: order.map((slot) => rows.get(slot)) }),
  };
}
