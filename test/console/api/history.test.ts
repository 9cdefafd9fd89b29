import { expect, test } from 'vitest';
import type { MachineHistory } from '../../../src/console/views.ts';
import { createMachineHistory } from '../../../src/daemon/views/machine-history.ts';
import { slot } from '../../../src/domain/ids.ts';
import { idOf, machineStand, slotName } from '../../commands/machine-stand.ts';
import { askApi, openConsole } from './console-stand.ts';

interface Line {
  readonly kind: string;
  readonly of: string;
  readonly isFailure: boolean;
}
interface Answer {
  readonly lines: readonly Line[];
  readonly next: string | null;
}

async function lived(): Promise<MachineHistory> {
  const stand = machineStand();
  const id = stand.add(1, { agentStarted: null, heartbeat: null });
  const session = await stand.daemon();
  await stand.file({ verb: 'hold', kind: 'no-recover', untilMs: null }, slotName(1));
  stand.clock.increment(60_000);
  const work = await session.claim('ShepherdAgentStart', id);
  stand.clock.increment(60_000);
  await work.fail({ initialMs: 1_000, exponent: 1, maximumMs: 0 }, 'no route');
  return createMachineHistory(stand.bmdb.inspection, (place) =>
    place === slot('metal', 'slot-1') ? id : null,
  );
}
const kinds = ({ lines }: Answer) => lines.map(({ of, kind }) => `${of} ${kind}`);
const ALL = ['work Failed', 'slot workFailed', 'work Started', 'slot held'];

test('a slot has what happened to it and in work on its machines, newest first, in pages', async () => {
  const console = await openConsole({ history: await lived() });
  const whole = await askApi<Answer>(console, 'machines/metal/slot-1/history');
  expect(whole.status).toBe(200);
  expect(kinds(whole.body).toSorted()).toEqual(ALL.toSorted());
  expect(kinds(whole.body).at(-1)).toBe('slot held');
  expect(whole.body.lines.filter(({ isFailure }) => isFailure)).toHaveLength(2);
  const seen: string[] = [];
  let next: string | null = null;
  do {
    const more: string = next === null ? '' : `&next=${next}`;
    const page = await askApi<Answer>(console, `machines/metal/slot-1/history?limit=1${more}`);
    seen.push(...kinds(page.body));
    next = page.body.next;
  } while (next !== null);
  expect(seen).toEqual(kinds(whole.body));
  const strange = await askApi(console, 'machines/metal/slot-1/history?next=x');
  expect(strange.body).toMatchObject({ code: 'malformed', errors: [{ pointer: '#/query/next' }] });
});

test('a machine has its own, whether it is there or gone', async () => {
  const console = await openConsole({ history: await lived() });
  const own = await askApi<Answer>(console, `history?machine=${idOf(1)}`);
  expect(kinds(own.body).toSorted()).toEqual(ALL.filter((each) => each !== 'slot held').toSorted());
  const other = await askApi<Answer>(console, `history?machine=${idOf(2)}`);
  expect(other.body.lines).toEqual([]);
});
