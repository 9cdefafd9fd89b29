import type { z } from 'zod';
import { BALANCER_DRIVERS } from '../adapters/balancer/drivers.ts';
import { DRIVERS } from '../adapters/provider/drivers.ts';
import { AGENT_START_BACKOFF, RECOVERY_BACKOFF } from '../domain/backoff.ts';
import type { BackoffDescriptor } from '../domain/backoff.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS, HOST_KEY_POLICIES } from '../domain/policy.ts';
import { DEFAULT_GUARD } from '../domain/recovery/guard-judgement.ts';
import { formatDuration } from '../settings/duration.ts';
import * as leaf from '../settings/leaves.ts';
import { ladderSchema, unwantedErasures, type LadderOfProvider } from './ladder-schema.ts';
import { chronicSchema, conditionsSchema, replacementSchema, retireWhen } from './repair-schema.ts';
import { consoleSettings, hasAddress, hasWayIn, isEncrypted } from './console-schema.ts';
import { filledSection, section } from './driven.ts';
import { balancersSchema, complaintAboutRoles, rolesSchema, webhooksSchema } from './sections.ts';
import { windowFaults, windowsSchema } from './windows-schema.ts';
import { poolFaults } from './pool-faults.ts';
import { fleetSchema, poolsSchema } from './pool-schema.ts';
import { providersSchema } from './provider-schema.ts';
import type { Surroundings } from '../settings/secret.ts';

/** The valid values of `driver:`. */
export const DRIVER_TABLES = { providers: DRIVERS, balancers: BALANCER_DRIVERS } as const;

/**
 * The single definition of the configuration: parsing, checks, defaults and documentation. Sections
 * are in the documentation's order.
 */
export const configSchema = (around: Surroundings, drivers: typeof DRIVER_TABLES = DRIVER_TABLES) =>
  section({
    roles: rolesSchema(),
    database: databaseSchema(around),
    session: filledSection({
      interval: leaf
        .duration(
          'Other daemons treat this daemon as dead when it has not renewed its session for this long.',
          1000,
        )
        .prefault('5s'),
    }),
    providers: providersSchema(around, drivers.providers),
    provisioner: provisionerSchema(),
    agent: agentSchema(around),
    ssh: sshSchema(around),
    agentServer: agentServerSchema(around),
    initializer: filledSection({
      loopParallelism: leaf.count('Maximum concurrent agent starts.', 1, 1000).prefault(10),
      backoff: backoffSchema(AGENT_START_BACKOFF),
    }),
    recoverer: filledSection({
      loopParallelism: leaf.count('Maximum concurrent recoveries.', 1, 1000).prefault(10),
      backoff: backoffSchema(RECOVERY_BACKOFF),
      ladder: ladderSchema(),
      chronic: chronicSchema(),
      retire: retireWhen().prefault('never'),
      pollInterval: leaf
        .duration('How often recovery checks whether a step worked.')
        .prefault('5s'),
    }),
    guard: guardSchema(),
    replacement: replacementSchema(),
    windows: windowsSchema(),
    mirror: filledSection({
      scanInterval: leaf.duration('Interval of full scans of the database.').prefault('1m'),
      pollInterval: leaf
        .duration('Interval of queries for changes, in addition to notifications.')
        .prefault('5s'),
      listInterval: leaf.duration('Interval of listings of each provider.').prefault('1m'),
    }),
    conditions: conditionsSchema(),
    statistics: filledSection({
      interval: leaf.duration('Interval of counting the whole fleet.', 1000).prefault('1m'),
    }),
    fleet: fleetSchema(),
    balancers: balancersSchema(around, drivers.balancers),
    pools: poolsSchema(),
    console: consoleSchema(around),
    webhooks: webhooksSchema(around),
    log: filledSection({
      level: leaf
        .choice(['debug', 'info', 'warn', 'error'], 'Minimum severity of log lines.')
        .prefault('info'),
      format: leaf
        .choice(
          ['auto', 'json', 'pretty', 'journal'],
          'auto: pretty on a terminal, otherwise JSON. journal: JSON with a severity prefix, for systemd.',
        )
        .prefault('auto'),
    }),
    inspect: filledSection({
      console: leaf
        .flag('Admins may inspect actors in the console, and record what machines do.')
        .prefault(false),
      port: leaf
        .count(
          "Loopback port of the relay to Stately's inspector. 0: any free port. Default: off.",
          0,
          65_535,
        )
        .optional(),
    }),
  })
    .refine(agentsKnowWhereToReport, {
      when: () => true,
      path: ['agent', 'endpoint'],
      error: 'is missing; give it, or name a host that agents can reach in agentServer.listen',
    })
    .superRefine(erasesNothingUnasked, { when: () => true })
    .superRefine(poolsAgree, { when: () => true })
    .superRefine(windowsAgree, { when: () => true })
    .superRefine(rolesMakeSense, { when: () => true });

function rolesMakeSense(value: unknown, context: z.RefinementCtx): void {
  const message = complaintAboutRoles(value ?? {});
  if (message !== null) context.addIssue({ code: 'custom', path: ['roles'], message });
}

/** Reported together with all other faults. */
function poolsAgree(value: unknown, context: z.RefinementCtx): void {
  for (const { path, message } of poolFaults(value)) {
    context.addIssue({ code: 'custom', path: [...path], message });
  }
}

/** A window of an unknown provider or pool would gate nothing. */
function windowsAgree(value: unknown, context: z.RefinementCtx): void {
  for (const { path, message } of windowFaults(value)) {
    context.addIssue({ code: 'custom', path: [...path], message });
  }
}

/** Reports a setting that loses data even if other parts are invalid. */
function erasesNothingUnasked(value: unknown, context: z.RefinementCtx): void {
  const { recoverer, providers } = (value ?? {}) as {
    recoverer?: { ladder?: { reinstalling?: { attempts?: number } } };
    providers?: Readonly<Record<string, LadderOfProvider>>;
  };
  const common = recoverer?.ladder?.reinstalling?.attempts;
  for (const { path, message } of unwantedErasures(common, providers ?? {})) {
    context.addIssue({ code: 'custom', path: [...path], message });
  }
}

function agentsKnowWhereToReport(value: {
  roles?: unknown;
  agent?: unknown;
  agentServer?: unknown;
}): boolean {
  const { endpoint } = (value?.agent ?? {}) as { endpoint?: unknown };
  const { listen } = (value?.agentServer ?? {}) as { listen?: leaf.ListenAddress };
  // Without `loops`, no agent needs the address; without `agent-server`, `roles` asks for it.
  const { roles } = value ?? {};
  if (Array.isArray(roles) && !(roles.includes('loops') && roles.includes('agent-server')))
    return true;
  if (endpoint !== undefined || typeof listen?.host !== 'string') return true;
  return !['', '0.0.0.0', '::'].includes(listen.host);
}

const databaseSchema = (around: Surroundings) =>
  filledSection({
    url: leaf.databaseUrl('PostgreSQL 15 or later.', around).optional(),
    embedded: section({
      dataDir: leaf.path('Directory of the embedded PostgreSQL.', around),
    }).optional(),
    poolMax: leaf
      .count(
        'Database connections for work. The daemon opens up to six more for other tasks.',
        2,
        1000,
      )
      .prefault(10),
    wakes: leaf
      .choice(
        ['listen', 'poll'],
        'How the daemon learns of changes: by LISTEN, or by polling where LISTEN does not get through.',
      )
      .prefault('listen'),
  }).refine((database) => hasExactlyOne(database, 'url', 'embedded'), {
    when: () => true,
    error: 'needs one database; give either url or embedded: { dataDir: … }',
  });

/** True unless `value` is a section with none or both of the keys. */
function hasExactlyOne(value: unknown, one: string, other: string): boolean {
  if (typeof value !== 'object' || value === null) return true;
  const keys = value as Record<string, unknown>;
  return (keys[one] === undefined) !== (keys[other] === undefined);
}

const provisionerSchema = () =>
  filledSection({
    maxMachines: leaf.count('Maximum machines per provider. 0: no limit.', 0).prefault(50),
    reconcilerRate: leaf.duration('Minimum time between two passes.').prefault('1m'),
    deviceCreationRate: leaf
      .duration('Minimum time between two creations. 0s: no limit.', 0)
      .prefault('5s'),
    reservationChunkSize: leaf.count('Maximum creations per pass.', 1).prefault(20),
    penalty: leaf.duration('How long a slot is not used after a failed creation.').prefault('1h'),
    concurrentCreations: leaf
      .count('Maximum concurrent creations per provider.', 1, 1000)
      .prefault(3),
    creationTimeout: leaf.duration('Time limit of one creation.', 1000).prefault('15m'),
    assimilate: leaf
      .flag('Adopt devices whose name is ours and that no machine refers to, and tag them.')
      .prefault(false),
  });

const agentSchema = (around: Surroundings) =>
  filledSection({
    executablePath: leaf
      .file('Agent program for machines. Default: the script of this package.', around)
      .optional(),
    executables: section({
      x64: leaf.file('Agent program for x86-64 machines.', around).optional(),
      arm64: leaf.file('Agent program for ARM64 machines.', around).optional(),
    })
      .refine((programs) => programs.x64 !== undefined || programs.arm64 !== undefined, {
        error: 'names no program; give x64, arm64, or both',
      })
      .optional(),
    targetPath: leaf
      .remotePath('Path of the agent program on the machines.')
      .prefault('/root/agent'),
    endpoint: leaf
      .endpoint('Address that agents report to. Default: agentServer.listen, if it names a host.')
      .optional(),
    endpointCaCertificatePath: leaf
      .file("CA of that address (PEM). Default: the system's.", around, leaf.isCertificate)
      .optional(),
    sshConnectTimeout: leaf.duration('Time limit of a TCP connect.').prefault('2s'),
    sshHandshakeTimeout: leaf.duration('Time limit of the SSH handshake.').prefault('10s'),
    sshExecTimeout: leaf
      .duration('Time limit of a command, such as starting the agent.')
      .prefault('60s'),
    heartbeatPeriod: leaf
      .duration('Interval of heartbeats.')
      .prefault(formatDuration(DEFAULT_LOSS.periodMs)),
    heartbeatDeadline: leaf
      .duration('A machine is silent this long after its last heartbeat.')
      .prefault(formatDuration(DEFAULT_LOSS.heartbeatMs)),
    firstHeartbeatDeadline: leaf
      .duration('A machine is silent this long after its agent start if no heartbeat ever came.')
      .prefault(formatDuration(DEFAULT_LOSS.firstHeartbeatMs)),
    needsHumanAfter: leaf
      .duration('A machine that is silent or unreachable for this long needs a person.')
      .prefault(formatDuration(DEFAULT_LOSS.needsHumanAfterMs)),
  })
    .refine((agent) => agent.executablePath === undefined || agent.executables === undefined, {
      path: ['executables'],
      error: 'and executablePath were both given; give one of them',
    })
    .refine(hearsTwice, {
      when: () => true,
      path: ['heartbeatDeadline'],
      error: 'is less than two heartbeat periods; give more, or machines are lost by one late call',
    });

function hearsTwice(agent: { heartbeatDeadline?: unknown; heartbeatPeriod?: unknown }): boolean {
  const { heartbeatDeadline: deadlineMs, heartbeatPeriod: periodMs } = agent ?? {};
  if (typeof deadlineMs !== 'number' || typeof periodMs !== 'number') return true;
  return deadlineMs >= 2 * periodMs;
}

export const sshSchema = (around: Surroundings) =>
  filledSection({
    keyPath: leaf.path('Private key of the daemon. Created if missing.', around),
    previousKeyPaths: leaf
      .paths('Earlier private keys that machines may still know. At most four.', 4, around)
      .prefault([]),
    keyPassphrase: leaf.secret('Passphrase of encrypted keys.', around).optional(),
    port: leaf.count('SSH port of machines whose address names none.', 1, 65_535).prefault(22),
    hostKeyPolicy: leaf
      .choice(
        HOST_KEY_POLICIES,
        'What to do with a key that nothing proves: tofu pins it at first use, strict refuses it, insecure accepts any.',
      )
      .prefault('tofu'),
    sudo: leaf
      .choice(
        ['auto', 'never', 'always'],
        'Use sudo -n to become root. auto: unless the user is root.',
      )
      .prefault('auto'),
  });

const agentServerSchema = (around: Surroundings) =>
  filledSection({
    listen: leaf.listen('Address where agents report.').prefault(':8080'),
    keyPath: leaf.file('Private key of the agent server (PEM).', around).optional(),
    certificatePath: leaf
      .file('Certificate of the agent server (PEM).', around, leaf.isCertificate)
      .optional(),
    devCertificates: section({
      dir: leaf.path('Directory of a generated CA and certificate, for trials.', around),
    }).optional(),
  }).refine(hasOneIdentity, {
    when: () => true,
    error: 'needs one identity; give keyPath and certificatePath, or devCertificates: { dir: … }',
  });

function hasOneIdentity(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  const { keyPath, certificatePath, devCertificates } = value as Record<string, unknown>;
  const files = [keyPath, certificatePath].filter((path) => path !== undefined).length;
  return devCertificates === undefined ? files === 2 : files === 0;
}

const backoffSchema = (defaults: BackoffDescriptor) =>
  filledSection({
    initial: leaf
      .duration('Pause after the first failure.')
      .prefault(formatDuration(defaults.initialMs)),
    exponent: leaf
      .ratio('Factor by which each further pause grows.', 1, 10)
      .prefault(defaults.exponent),
    maximum: leaf.duration('Maximum pause.').prefault(formatDuration(defaults.maximumMs)),
  }).transform(({ initial, exponent, maximum }): BackoffDescriptor => ({
    initialMs: initial,
    exponent,
    maximumMs: maximum,
  }));

const guardSchema = () =>
  filledSection({
    percent: leaf
      .ratio(
        'Maximum share of machines, per provider, per location and for the fleet, that recovery interrupts at once, in percent. Groups of four or more allow at least two.',
        0,
        100,
      )
      .prefault(DEFAULT_BUDGET.percent),
    perGroupMax: leaf
      .count('Maximum machines per provider and location that recovery interrupts at once.', 1)
      .prefault(DEFAULT_BUDGET.perGroupMax),
    fleetMax: leaf
      .count('Maximum machines of the fleet that recovery interrupts at once.', 1)
      .prefault(DEFAULT_BUDGET.fleetMax),
    silentMin: leaf
      .count(
        'Recovery does not freeze while this many machines or fewer fall silent together. In a small group, half of the group counts instead.',
        1,
      )
      .prefault(DEFAULT_GUARD.silentMin),
    silentPercent: leaf
      .ratio(
        'Recovery freezes if a larger share of the started machines of a provider or the fleet falls silent together, in percent.',
        0,
        100,
      )
      .prefault(DEFAULT_GUARD.silentPercent),
    newFor: leaf
      .duration(
        'Machines fall silent together if it happens within this time. One that an order interrupts does not count.',
        1000,
      )
      .prefault(formatDuration(DEFAULT_GUARD.newForMs)),
    calmPercent: leaf
      .ratio(
        'A freeze ends when a smaller share of machines is silent for guard.calmFor, in percent.',
        0,
        100,
      )
      .prefault(DEFAULT_GUARD.calmPercent),
    calmFor: leaf
      .duration('How long the fleet must be calm before a freeze ends.')
      .prefault(formatDuration(DEFAULT_GUARD.calmForMs)),
    unreachablePercent: leaf
      .ratio(
        'Recovery freezes if a larger share of machines cannot be reached by SSH, in percent.',
        0,
        100,
      )
      .prefault(DEFAULT_GUARD.unreachablePercent),
  });

const consoleSchema = (around: Surroundings) =>
  filledSection(consoleSettings(around))
    .refine(hasWayIn, {
      when: () => true,
      path: ['token'],
      error:
        'is missing, and the listen address is open to other machines; give a token, ' +
        'console.tokens, console.oidc or console.tls.clients',
    })
    .refine(isEncrypted, {
      when: () => true,
      path: ['tls'],
      error:
        'is missing, and traffic to other machines would be unencrypted; give a certificate, ' +
        'or proxy: trusted where a proxy ends TLS',
    })
    .refine(hasAddress, {
      when: () => true,
      path: ['url'],
      error:
        'is missing, and proxy and oidc need it; give the address at which browsers find the ' +
        'console, such as https://shepherd.example.org',
    });
