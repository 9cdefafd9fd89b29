/** What one room may import of another: all of it, or the files that are named. */
export interface Arrow {
  readonly to: string;
  readonly files: RegExp;
  /** Such as the table of rooms says it. */
  readonly says: string;
  /** Of the arrow in the drawing, when it leads to a part of the room. */
  readonly label?: string;
  /** Which files of the room may follow it; all when absent. */
  readonly from?: RegExp;
}

/** A folder. It may always import itself. */
export interface Room {
  readonly name: string;
  /** Which files are in it, when it is not the folder of `src/` with its name. */
  readonly files?: RegExp;
  /** How the table of rooms calls it, when it is not that folder. */
  readonly path?: string;
  readonly holds: string;
  readonly may: readonly Arrow[];
  /** What else the table of rooms says about imports. */
  readonly note?: string;
  /** Which packages it may import; all when absent. */
  readonly packages?: readonly string[];
  /** Started by itself: nothing imports it. */
  readonly isProgram?: true;
}

/** `config.ts` is the entry of the room `config/`. */
const all = (to: string): Arrow => ({ to, says: to, files: new RegExp(`^src/${to}(/|\\.ts$)`) });
const [lib, domain, machines, settings, wire] = [
  ...['lib', 'domain', 'machines', 'settings', 'wire'].map(all),
] as [Arrow, Arrow, Arrow, Arrow, Arrow];
const PORTS: Arrow = {
  to: 'adapters',
  label: 'port.ts',
  says: 'the `port.ts` of adapters',
  files: /^src\/adapters\/.+\/port\.ts$/,
};
/** Adapters do not import each other, but for what all of them need. */
const SHARED_PORTS: Arrow = {
  to: 'adapters',
  says: 'the `port.ts` of clock, log, metrics, network, providers and balancers',
  files:
    /^src\/adapters\/((clock|log|metrics|network|provider|balancer)\/port|balancer\/metrics)\.ts$/,
};
/** Whoever speaks HTTP does so in one way. */
const HTTP: Arrow = {
  to: 'adapters',
  label: 'driver-kit/',
  says: 'plain exchanges over HTTP for webhooks',
  files: /^src\/adapters\/driver-kit\/(exchange|outcome)\.ts$/,
  from: /^src\/adapters\/webhooks\//,
};
const FREE_PORTS: Arrow = {
  to: 'adapters',
  label: 'free-port.ts',
  says: 'the search for a free port',
  files: /^src\/adapters\/network\/free-port\.ts$/,
};
/** Agents that are no processes say what the real one says, by its own loop. */
const AGENT_LOOP: Arrow = {
  to: 'agent',
  label: 'heartbeat-loop.ts',
  says: 'the heartbeats of the agent for light machines',
  files: /^src\/agent\/(callback-client|client-certificate|endpoint|heartbeat-loop|keys)\.ts$/,
  from: /^emulators\/hosts\/light\//,
};
const DRIVERS: Arrow = {
  to: 'adapters',
  label: 'drivers.ts',
  says: 'the ports and the tables of drivers',
  files: /^src\/adapters\/(provider|balancer)\/(port|drivers)\.ts$/,
};
/** Hosts are proved in one way, by the fleet and by the test of its drivers. */
const HOST_KEY_PROOF: Arrow = {
  to: 'actors',
  label: 'host-key-proof.ts',
  says: 'the proof of host keys',
  files: /^src\/actors\/tasks\/host-key-proof\.ts$/,
};

/** The map: what each room holds, and what it may import. */
export const ROOMS: readonly Room[] = [
  {
    name: 'lib',
    holds: 'general tools that know nothing of fleets: texts, plain data, batches, rate limits',
    may: [],
    packages: [],
  },
  {
    name: 'domain',
    holds: 'the vocabulary (ids, rows, statuses, errors) and decisions as pure functions',
    may: [lib],
    packages: [],
  },
  {
    name: 'machines',
    holds:
      'statecharts: no I/O, no timers of their own making; every service, guard and delay injected by name',
    may: [lib, domain],
    packages: ['xstate'],
  },
  {
    name: 'actors',
    holds: 'the services of the charts: promises, observables and callbacks over ports',
    may: [lib, domain, machines, PORTS],
  },
  {
    name: 'adapters',
    holds: 'one folder per outside system, each with its `port.ts` and its implementations',
    may: [lib, domain, wire, settings, SHARED_PORTS, HTTP],
    note: 'drivers also their kit, `driver-kit/`; their tables every driver',
  },
  {
    name: 'console',
    holds: 'web page, API, health',
    may: [lib, domain, machines, settings, PORTS],
  },
  {
    name: 'conformance',
    holds: 'what `shepherd provider test` asks of a driver, step by step',
    may: [lib, domain, settings, PORTS, HOST_KEY_PROOF],
  },
  {
    name: 'wire',
    holds: 'the wire formats, generated from `proto/`, and how they are read',
    may: [],
  },
  { name: 'agent', holds: 'the program that runs on a machine', may: [wire], isProgram: true },
  {
    name: 'config',
    holds: 'the schema of the configuration',
    may: [lib, domain, settings, DRIVERS],
  },
  {
    name: 'settings',
    holds:
      'the kinds of settings and of details of verbs: durations, secrets, texts, and how each is checked',
    may: [lib, domain],
  },
  {
    name: 'emulators',
    path: 'emulators/',
    files: /^emulators\/(?!(commands|sim)\/)/,
    holds: 'the pretended world: APIs of providers, BMCs, machines that are real SSH servers',
    may: [lib, domain, wire, FREE_PORTS, AGENT_LOOP],
  },
];

/** Where adapters meet statecharts: these may import everything, but nothing imports `main.ts`. */
export const COMPOSITION = ['main.ts', 'commands/', 'daemon/', 'agent-bundle.ts'];
/** The same of the pretended world. */
export const PRETENDED_COMPOSITION = ['emulators/commands/', 'emulators/sim/'];

/** A folder of a large room. */
export interface InnerRoom {
  readonly holds: string;
  /** Which of its neighbours it may import; what all of them build on it may import anyway. */
  readonly may: readonly string[];
}

/** A large room, and the folders in it. */
export interface LargeRoom {
  /** With a slash at its end. */
  readonly path: string;
  /** Files at its top that every folder is built on; they import only each other of this room. */
  readonly base: readonly string[];
  readonly rooms: Readonly<Record<string, InnerRoom>>;
}

const room = (holds: string, ...may: readonly string[]): InnerRoom => ({ holds, may });

export const ACTORS: LargeRoom = {
  path: 'src/actors/',
  base: ['due-times', 'leases', 'session-keeper'],
  rooms: {
    mirror: room(
      'what is known of the fleet: rows and listings read, put together, told to the machines',
    ),
    guard: room('assessing the fleet as a whole, and telling why recovery is stopped', 'mirror'),
    turns: room('when a task may work on a machine, and what is given back when it ends'),
    providers: room(
      'listings that are shared, holds on calls, what is checked before a request is sent',
    ),
    provisioning: room(
      'creating machines, recording them, copying what their provider says of them',
      'providers',
    ),
    balancing: room('pools kept as they are desired at their balancers, machines as their members'),
    webhooks: room('events told to receivers over HTTP'),
    tasks: room(
      'the work on one machine: agent start, recovery, deprovision',
      'providers',
      'turns',
    ),
  },
};

export const PG: LargeRoom = {
  path: 'src/adapters/bmdb/pg/',
  base: [
    ...['eligibility', 'errors', 'fence', 'delete-tags', 'batches', 'host-urls', 'hosts'],
    ...['live', 'pool', 'repeat', 'settings', 'sql', 'statement'],
  ],
  rooms: {
    claims: room('what a claim is, how dead claims are released, whether a request may be made'),
    tasks: room(
      'claiming a machine, noting what was done to it, and how the work ends',
      'claims',
      'guard',
      'reading',
      'recovery',
    ),
    recovery: room(
      'permits of the budget, and the rows of the ladder',
      'claims',
      'guard',
      'reading',
      'requests',
    ),
    guard: room("the guard's rows, what it counts, and the lines about silent machines", 'events'),
    balancing: room('members of pools, and how pools stand', 'claims'),
    events: room('what happened: written, and told in one order'),
    records: room('what drivers keep'),
    access: room('who may use console and API: tokens, sessions, one-time links'),
    requests: room('what operators ask for: filed, listed, ended'),
    people: room(
      'carrying out what operators asked for',
      'balancing',
      'events',
      'guard',
      'reading',
      'recovery',
      'requests',
    ),
    heartbeats: room('batches of heartbeats and what agents report'),
    reading: room('rows, changes, and what people look up', 'balancing', 'guard', 'requests'),
    provisioning: room(
      'intents, leases, listings, holds, and machines that a provider made',
      'reading',
    ),
  },
};
