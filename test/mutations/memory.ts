import { mistakesNamed, type Mutation } from './mutation.ts';

/** What the database in memory does instead of statements. */
const MEM = 'test/doubles/mem-bmdb';
/** The contract of the port. */
const ON_MEM = ['test/adapters/bmdb/mem/mem-bmdb.test.ts'];

export const mutations: readonly Mutation[] = [
  ...mistakesNamed(
    { file: `${MEM}/intents.ts`, tests: ON_MEM, named: 'intents' },
    [
      'mem-no-allocate-with-an-end-is-none',
      '(each.untilMs === null || each.untilMs > memory.now())',
      'each.untilMs === null',
    ],
    [
      'mem-no-allocate-never-ends',
      '(each.untilMs === null || each.untilMs > memory.now())',
      'true',
    ],
    [
      'mem-hold-of-another-provider-bars',
      'slot(each.provider, each.slotId) === name &&',
      'name.endsWith(each.slotId) &&',
    ],
    ['mem-any-hold-bars-creation', "each.kind === 'no-allocate' &&", ''],
    [
      'mem-attempt-on-a-slot-with-a-machine',
      'if (hasMachine(memory, name)) throw new NothingToDo',
      'if (false) throw new NothingToDo',
    ],
    ['mem-intent-of-the-living-is-resumed', '|| !isAlive(memory, intent)', '|| true'],
    [
      'mem-adoption-forgives-no-penalty',
      'memory.penalties.delete(slot(intent.provider, intent.slotId));',
      '',
    ],
  ),
  ...mistakesNamed({ file: `${MEM}/leases.ts`, tests: ON_MEM, named: 'recovery' }, [
    'mem-used-permit-is-given-back',
    '(recovery?.askedAtMs ?? -Infinity) >= permitGrantedAtMs',
    'false',
  ]),
  ...mistakesNamed(
    { file: `${MEM}/heartbeats.ts`, tests: ON_MEM, named: 'heartbeats|an installation' },
    ['mem-handed-out-twice', 'if (handedOutAtMs === null) {', '{'],
    [
      'mem-report-of-an-earlier-generation-counts',
      'report.generation === asked',
      'report.generation <= asked!',
    ],
    ['mem-error-after-a-success-counts', "if (installState(machine.row) === 'DONE') return;", ''],
  ),
  ...mistakesNamed(
    {
      file: `${MEM}/settle.ts`,
      tests: ON_MEM,
      named: 'quarantine|release|clearing|hold|give a machine back',
    },
    ['mem-release-takes-the-permit-of-work', 'if (!isNeeded) dropPermit', 'dropPermit'],

    ['mem-unhold-of-every-kind', ' || each.kind !== kind', ''],
    ['mem-release-forgets-that-power-is-owed', 'if (powerOffAskedAtMs === null) return', 'return'],
  ),
  ...mistakesNamed({ file: `${MEM}/provided.ts`, tests: ON_MEM, named: 'provided' }, [
    'mem-missing-keeps-its-permit',
    "if (told.status === 'Missing') dropPermit(memory, machine);",
    '',
  ]),
  ...mistakesNamed(
    { file: `${MEM}/snapshot.ts`, tests: ON_MEM, named: 'changes' },
    ['mem-feed-forgets-that-it-was-trimmed', 'if (last) memory.trimmedTo = last.seq;', ''],
    ['mem-feed-is-trimmed-at-once', 'memory.now() - KEPT_MS', 'memory.now() + 1'],
  ),
  ...mistakesNamed(
    { file: `${MEM}/listings.ts`, tests: ON_MEM, named: 'listing|listed' },
    ['mem-listing-forgets-since-when', 'Math.min(memory.now(), ...dead)', 'memory.now()'],
    [
      'mem-dead-daemons-fail-to-list',
      '.filter(({ sessionId }) => isAlive(sessionId))',
      '.filter(() => true)',
    ],
  ),
  ...mistakesNamed(
    { file: `${MEM}/permits.ts`, tests: ON_MEM, named: 'permits' },
    [
      'mem-permits-of-a-location-count-where-the-machine-is',
      'permitScope?.location ?? row.provided?.location',
      'row.provided?.location',
    ],
    ['mem-budget-of-locations-is-none', '(location === null ?', '(location !== "" ?'],
  ),
];
