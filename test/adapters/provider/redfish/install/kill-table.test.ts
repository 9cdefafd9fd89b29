import { expect, test } from 'vitest';
import type { Provider, Records } from '../../../../../src/adapters/provider/port.ts';
import { witness } from '../../../../../src/domain/ids.ts';
import { type Installs, startInstalls, WITNESS } from './stand.ts';

/**
 * A daemon dies before something that it sends or writes has arrived, or after that was carried out and
 * before it hears so: whatever it asked for hangs, and it is never heard of again. Another one goes on
 * with the same records.
 */
type Phase = 'before' | 'after';
const PHASES: readonly Phase[] = ['before', 'after'];

const SYSTEM = '/redfish/v1/Systems/{system}';
const MEDIA = '/redfish/v1/Managers/{manager}/VirtualMedia/{media}';
const INSERT = `POST ${MEDIA}/Actions/VirtualMedia.InsertMedia`;
const RESET = `POST ${SYSTEM}/Actions/ComputerSystem.Reset`;

/** What is sent to change something, or written down; which one, counted from 1. */
interface Moment {
  readonly line: string;
  readonly nth: number;
}
const CREATION: readonly Moment[] = [
  { line: 'record make', nth: 1 },
  { line: INSERT, nth: 1 },
  { line: `PATCH ${SYSTEM}`, nth: 1 },
  { line: 'record replace', nth: 1 },
  { line: RESET, nth: 1 },
  { line: 'record replace', nth: 2 },
  { line: RESET, nth: 2 },
  { line: 'record replace', nth: 3 },
];

const orderOf = (rack: Installs, secret: string) => ({
  tags: { ...rack.tagsOf(WITNESS), 'shepherd-InstanceSecret': secret },
  initCommand: `#!/bin/sh\nmkdir -p /root\nprintf %s ${secret} > /root/secret`,
});

/** A rack whose first machine runs something already. */
async function startOn(): Promise<Installs> {
  const rack = await startInstalls({ machines: true, settings: { powerPoll: '2h' } });
  await rack.boot();
  return rack;
}

/** The records, which tell of each writing before they do it and after that. */
function watched(records: Records, tell: (line: string, phase: Phase) => Promise<void>): Records {
  async function around<T>(line: string, write: () => Promise<T>): Promise<T> {
    await tell(line, 'before');
    const written = await write();
    await tell(line, 'after');
    return written;
  }
  return {
    all: (options) => records.all(options),
    make: (...args) => around('record make', () => records.make(...args)),
    replace: (...args) => around('record replace', () => records.replace(...args)),
    drop: (...args) => around('record drop', () => records.drop(...args)),
  };
}

test('the table of deaths has every change of an installation', async () => {
  const rack = await startOn();
  const lines: string[] = [];
  const seq = rack.fake.requests().at(-1)?.seq ?? 0;
  const records = watched(rack.records, async (line, phase) => {
    if (phase === 'before') lines.push(line);
  });
  await rack.create(orderOf(rack, 's1'), WITNESS, rack.open({ records }));
  const sent = rack.fake
    .requests(seq)
    .filter(({ method, route }) => method !== 'GET' && !route.includes('SessionService'))
    .map(({ method, route }) => `${method} ${route}`);
  const isRecord = ({ line }: Moment) => line.startsWith('record');
  expect(lines).toEqual(CREATION.filter(isRecord).map(({ line }) => line));
  expect(sent).toEqual(CREATION.filter((one) => !isRecord(one)).map(({ line }) => line));
});

async function createAndDie(rack: Installs, { line, nth }: Moment, phase: Phase): Promise<void> {
  const [method = '', route = ''] = line.split(' ');
  const dead = Promise.withResolvers<never>();
  dead.promise.catch(() => undefined);
  let isDead = false;
  let seen = 0;
  const records = watched(rack.records, async (written, at) => {
    if (written !== line || at !== phase || ++seen !== nth) return;
    isDead = true;
    await dead.promise;
  });
  if (method !== 'record') {
    const match = { method, route, nth };
    await rack.fault({ type: 'hang', phase }, { id: 'death', match, times: 1 });
  }
  const mortal = rack.open({ records });
  let ended = 'not at all';
  const call = rack.call({ operationId: WITNESS });
  mortal.createMachine(await rack.request(orderOf(rack, 's1')), call).then(
    () => (ended = 'well'),
    () => (ended = 'badly'),
  );
  const isStruck = () =>
    isDead || rack.fake.faults().some(({ id, applied }) => id === 'death' && applied > 0);
  await rack.until(isStruck);
  expect(ended, `it should have died at ${line}`).toBe('not at all');
  const stopped = mortal.stop();
  dead.reject(new Error('the daemon is dead'));
  await rack.inTime(stopped);
  await rack.fake.clearFaults();
}

/** As the fleet does: what is found is recorded, else the creation is taken up where its place is free. */
async function goOn(rack: Installs, next: Provider) {
  const call = rack.call({ operationId: WITNESS });
  const found = await rack.inTime(next.findByWitness!(witness(WITNESS), 'system-1', call));
  if (found) return { ...found, isFound: true };
  const unused = rack.seen(await rack.free('system-1', next));
  expect(unused).toMatchObject({ id: null, availability: 'KnownUnused' });
  const order = { ...orderOf(rack, 's2'), unused, resumed: true };
  return { ...(await rack.create(order, WITNESS, next)), isFound: false };
}

test.each(CREATION.flatMap((moment) => PHASES.map((phase) => [moment, phase] as const)))(
  'killed at %j, %s it was carried out: installed once, switched on once, and the secret is its own',
  async (moment, phase) => {
    const rack = await startOn();
    const { hosts } = rack;
    await createAndDie(rack, moment, phase);

    const next = rack.open();
    const isMade = moment.line === 'record replace' && moment.nth === 3 && phase === 'after';
    const machine = await goOn(rack, next);
    expect(machine.isFound).toBe(isMade);
    expect(machine).toMatchObject({ id: 'system-1.11112222', reservationId: 'system-1' });
    await rack.until(async () => (await rack.claim())?.result?.isTidy === true);
    await rack.until(() => hosts.list()[0]!.up);
    await rack.after(60 * 60_000);

    expect(hosts.list()[0]!.installs).toBe(1);
    const lost = phase === 'before' && moment.line === RESET ? moment.nth : null;
    const resets = ['ForceOff', 'On'].flatMap((type, n) =>
      lost === n + 1 ? [type, type] : [type],
    );
    expect(rack.resets()).toEqual(resets);
    expect((await rack.records.all(rack.call())).length).toBe(1);
    const { tags, result } = (await rack.claim())!;
    expect(result).toMatchObject({ end: 'done' });
    expect(hosts.list()[0]!.disk.userdata).toContain(
      `printf %s ${tags['shepherd-InstanceSecret']}`,
    );
    expect(rack.media()[0]!.image).toBe(null);
    expect(rack.system().boot.enabled).toBe('Disabled');
  },
);
