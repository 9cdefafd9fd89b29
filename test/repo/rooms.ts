/** One room's permitted imports of another: all of it, or the named files. */
export interface Arrow {
  readonly to: string;
  readonly files: RegExp;
  /** As in the table of rooms. */
  readonly says: string;
  /** Label of the arrow in the drawing, if it leads to a part of the room. */
  readonly label?: string;
  /** Files of the room that may follow the arrow; all if absent. */
  readonly from?: RegExp;
}

/** A folder. It may always import itself. */
export interface Room {
  readonly name: string;
  /** Its files, if it is not the folder of `src/` with its name. */
  readonly files?: RegExp;
  /** Its name in the table of rooms, if it is not that folder. */
  readonly path?: string;
  readonly holds: string;
  readonly may: readonly Arrow[];
  /** Permitted packages; all if absent. */
  readonly packages?: readonly string[];
  /** Starts by itself: nothing imports it. */
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
/** Adapters do not import each other, except for shared needs. */
const SHARED_PORTS: Arrow = {
  to: 'adapters',
  says: 'the `port.ts` of clock, log, metrics, network, providers and balancers',
  files:
    /^src\/adapters\/((clock|log|metrics|network|provider|balancer)\/port|balancer\/metrics)\.ts$/,
};
/** All HTTP clients use one implementation. */
const HTTP: Arrow = {
  to: 'adapters',
  label: 'driver-kit/',
  says: 'plain exchanges over HTTP for webhooks',
  files: /^src\/adapters\/driver-kit\/(exchange|outcome)\.ts$/,
  from: /^src\/adapters\/webhooks\//,
};
/** A list of hosts resets those behind BMCs by the driver for BMCs. */
const BMC_RESETS: Arrow = {
  to: 'adapters',
  says: 'the driver of BMCs, and its seeds, for lists',
  files:
    /^src\/adapters\/provider\/redfish\/(entries|redfish-provider|settings|install\/(claims|installer-files|seed-server|seed-service))\.ts$/,
  from: /^src\/adapters\/provider\/static\//,
};
const FREE_PORTS: Arrow = {
  to: 'adapters',
  label: 'free-port.ts',
  says: 'the search for a free port',
  files: /^src\/adapters\/network\/free-port\.ts$/,
};
/** Agents without a process report like the real one, by its own loop. */
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

/** The map: the content of each room, and its permitted imports. */
export const ROOMS: readonly Room[] = [
  {
    name: 'lib',
    holds: 'general tools: texts, plain data, batches, rate limits; no package',
    may: [],
    packages: [],
  },
  {
    name: 'domain',
    holds: 'vocabulary (ids, rows, statuses, errors) and decisions as pure functions; no package',
    may: [lib],
    packages: [],
  },
  {
    name: 'machines',
    holds: 'statecharts without I/O; services, guards and delays are injected by name',
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
    holds: 'one folder per outside system, with its `port.ts` and implementations',
    may: [lib, domain, wire, settings, SHARED_PORTS, HTTP, BMC_RESETS],
  },
  {
    name: 'console',
    holds: 'web page, API, health',
    may: [lib, domain, machines, settings, PORTS],
  },
  {
    name: 'conformance',
    holds: 'the steps of `shepherd provider test`',
    may: [lib, domain, settings, PORTS, HOST_KEY_PROOF],
  },
  { name: 'wire', holds: 'wire formats, generated from `proto/`, and their readers', may: [] },
  { name: 'agent', holds: 'the program that runs on a machine', may: [wire], isProgram: true },
  {
    name: 'config',
    holds: 'the schema of the configuration',
    may: [lib, domain, settings, DRIVERS],
  },
  {
    name: 'settings',
    holds: 'kinds of settings and their checks: durations, secrets, texts',
    may: [lib, domain],
  },
  {
    name: 'emulators',
    path: 'emulators/',
    files: /^emulators\/(?!(commands|sim)\/)/,
    holds: 'the simulated world: APIs of providers, BMCs, machines that are real SSH servers',
    may: [lib, domain, wire, FREE_PORTS, AGENT_LOOP],
  },
];

/** Where adapters meet statecharts: these may import everything, but nothing imports `main.ts`. */
export const COMPOSITION = ['main.ts', 'commands/', 'daemon/', 'agent-bundle.ts'];
/** The same for the simulated world. */
export const PRETENDED_COMPOSITION = ['emulators/commands/', 'emulators/sim/'];

/** A folder of a large room. */
export interface InnerRoom {
  readonly holds: string;
  /** Permitted neighbours, besides the files that every folder builds on. */
  readonly may: readonly string[];
}

/** A large room, and its folders. */
export interface LargeRoom {
  /** With a slash at its end. */
  readonly path: string;
  /** Top-level files that every folder builds on; within the room they import only each other. */
  readonly base: readonly string[];
  readonly rooms: Readonly<Record<string, InnerRoom>>;
}

const room = (holds: string, ...may: readonly string[]): InnerRoom => ({ holds, may });

export const ACTORS: LargeRoom = {
  path: 'src/actors/',
  base: ['due-times', 'leases', 'session-keeper'],
  rooms: {
    mirror: room('reads rows and listings, and tells the machines'),
    guard: room('assesses the fleet and says why recovery is stopped', 'mirror'),
    turns: room('decides when a task may start, and cleans up after it'),
    providers: room('shared listings, holds on calls, checks before a request'),
    provisioning: room('creates and records machines, and copies provider data', 'providers'),
    balancing: room('keeps pools as desired, and machines as their members'),
    webhooks: room('sends events to receivers over HTTP'),
    tasks: room('agent start, recovery and deprovision of one machine', 'providers', 'turns'),
  },
};

export const PG: LargeRoom = {
  path: 'src/adapters/bmdb/pg/',
  base: [
    ...['eligibility', 'errors', 'fence', 'delete-tags', 'batches', 'host-urls', 'hosts'],
    ...['live', 'pool', 'repeat', 'settings', 'sql', 'statement'],
  ],
  rooms: {
    claims: room('claims, the release of dead claims, checks of requests'),
    tasks: room(
      'begins, notes and ends work on a machine',
      'claims',
      'guard',
      'reading',
      'recovery',
    ),
    recovery: room('permits and ladder rows', 'claims', 'guard', 'reading', 'requests'),
    guard: room("the guard's rows and counts", 'events'),
    balancing: room('pool members and pool states', 'claims'),
    events: room('events, written and read in one order'),
    records: room("drivers' records"),
    access: room('tokens, sessions and one-time links of users'),
    requests: room("operators' requests: submitted, listed, ended"),
    people: room(
      "carries out operators' requests",
      'balancing',
      'events',
      'guard',
      'reading',
      'recovery',
      'requests',
    ),
    cases: room('repairs of machines, with evidence and notes', 'events', 'recovery'),
    conditions: room('conditions of machines, reported and read'),
    heartbeats: room('heartbeats and reports of agents, in batches', 'conditions'),
    reading: room('reads rows and changes', 'balancing', 'conditions', 'guard', 'requests'),
    provisioning: room('intents, leases, listings, holds and created machines', 'reading'),
  },
};
