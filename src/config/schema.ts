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
import { consoleSettings, hasAddress, hasWayIn, isEncrypted } from './console-schema.ts';
import { filledSection, section } from './driven.ts';
import { balancersSchema, complaintAboutRoles, rolesSchema, webhooksSchema } from './sections.ts';
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
        .duration('This daemon counts as dead so long after its last sign of life.', 1000)
        .prefault('5s'),
    }),
    providers: providersSchema(around, drivers.providers),
    provisioner: provisionerSchema(),
    agent: agentSchema(around),
    ssh: sshSchema(around),
    agentServer: agentServerSchema(around),
    initializer: filledSection({
      loopParallelism: leaf.count('Agent starts at once.', 1, 1000).prefault(10),
      backoff: backoffSchema(AGENT_START_BACKOFF),
    }),
    recoverer: filledSection({
      loopParallelism: leaf.count('Recoveries at once.', 1, 1000).prefault(10),
      backoff: backoffSchema(RECOVERY_BACKOFF),
      ladder: ladderSchema(),
      pollInterval: leaf.duration('How often to look for that evidence.').prefault('5s'),
    }),
    guard: guardSchema(),
    mirror: filledSection({
      scanInterval: leaf.duration('Full read of the database, besides its wakes.').prefault('1m'),
      pollInterval: leaf
        .duration('How often to ask the database for changes, besides its wakes.')
        .prefault('5s'),
      listInterval: leaf.duration('Listing of each provider.').prefault('1m'),
    }),
    statistics: filledSection({
      interval: leaf.duration('Counting of the whole fleet, by one daemon.', 1000).prefault('1m'),
    }),
    fleet: fleetSchema(),
    balancers: balancersSchema(around, drivers.balancers),
    pools: poolsSchema(),
    console: consoleSchema(around),
    webhooks: webhooksSchema(around),
    log: filledSection({
      level: leaf
        .choice(['debug', 'info', 'warn', 'error'], 'Least severity that is written.')
        .prefault('info'),
      format: leaf
        .choice(
          ['auto', 'json', 'pretty', 'journal'],
          'auto: pretty on a terminal, JSON otherwise. journal: JSON after the severity, for systemd.',
        )
        .prefault('auto'),
    }),
    inspect: filledSection({
      console: leaf
        .flag('Admins may look at actors in the console, and record what machines do.')
        .prefault(false),
      port: leaf
        .count(
          "Loopback port of the relay to Stately's inspector; 0 lets the system choose. Unset: off.",
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
    url: leaf.databaseUrl('Any PostgreSQL from version 15 on.', around).optional(),
    embedded: section({
      dataDir: leaf.path('Where a PostgreSQL of our own keeps its data.', around),
    }).optional(),
    poolMax: leaf
      .count('Connections of this daemon for work; up to six more for the rest.', 2, 1000)
      .prefault(10),
    wakes: leaf
      .choice(
        ['listen', 'poll'],
        'How changes are learnt: listen is told (LISTEN); poll asks, where that does not get through.',
      )
      .prefault('listen'),
  }).refine((database) => hasExactlyOne(database, 'url', 'embedded'), {
    when: () => true,
    error: 'names no database or two; give either url or embedded: { dataDir: … }',
  });

/** True unless `value` is a section with none or both of the keys. */
function hasExactlyOne(value: unknown, one: string, other: string): boolean {
  if (typeof value !== 'object' || value === null) return true;
  const keys = value as Record<string, unknown>;
  return (keys[one] === undefined) !== (keys[other] === undefined);
}

const provisionerSchema = () =>
  filledSection({
    maxMachines: leaf.count('Most machines of each provider; 0 is no limit.', 0).prefault(50),
    reconcilerRate: leaf.duration('Least time between two passes.').prefault('1m'),
    deviceCreationRate: leaf
      .duration('Least time between two creations; 0s is none.', 0)
      .prefault('5s'),
    reservationChunkSize: leaf.count('Most creations of one pass.', 1).prefault(20),
    penalty: leaf.duration('How long a slot rests after a failed creation.').prefault('1h'),
    concurrentCreations: leaf
      .count('Creations of each provider under way at once.', 1, 1000)
      .prefault(3),
    creationTimeout: leaf.duration('Longest time of one creation.', 1000).prefault('15m'),
    assimilate: leaf
      .flag('Tag and take over devices of ours by name that nothing refers to.')
      .prefault(false),
  });

const agentSchema = (around: Surroundings) =>
  filledSection({
    executablePath: leaf
      .file('The agent program that is put on machines; unset: ours.', around)
      .optional(),
    executables: section({
      x64: leaf.file('The agent program of machines with an x86-64 processor.', around).optional(),
      arm64: leaf.file('The agent program of machines with an ARM64 processor.', around).optional(),
    })
      .refine((programs) => programs.x64 !== undefined || programs.arm64 !== undefined, {
        error: 'names no program; give x64, arm64, or both',
      })
      .optional(),
    targetPath: leaf.remotePath('Where it is put.').prefault('/root/agent'),
    endpoint: leaf
      .endpoint('Address that agents report to; unset: agentServer.listen, if that names a host.')
      .optional(),
    endpointCaCertificatePath: leaf
      .file('CA of that address (PEM); unset: the system’s.', around, leaf.isCertificate)
      .optional(),
    sshConnectTimeout: leaf.duration('Limit of a TCP connect.').prefault('2s'),
    sshHandshakeTimeout: leaf.duration('Limit of the SSH handshake.').prefault('10s'),
    sshExecTimeout: leaf.duration('Limit of the agent’s first answer.').prefault('60s'),
    heartbeatPeriod: leaf
      .duration('How often agents report.')
      .prefault(formatDuration(DEFAULT_LOSS.periodMs)),
    heartbeatDeadline: leaf
      .duration('A machine is lost so long after its last heartbeat.')
      .prefault(formatDuration(DEFAULT_LOSS.heartbeatMs)),
    firstHeartbeatDeadline: leaf
      .duration('A machine is lost so long after agent start if none ever came.')
      .prefault(formatDuration(DEFAULT_LOSS.firstHeartbeatMs)),
    needsHumanAfter: leaf
      .duration('A machine that is silent or out of reach this long needs a person.')
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
    keyPath: leaf.path('Our private key; generated if absent.', around),
    previousKeyPaths: leaf
      .paths('Earlier private keys, which machines may still know; four at most.', 4, around)
      .prefault([]),
    keyPassphrase: leaf.secret('Passphrase of those that are encrypted.', around).optional(),
    port: leaf.count('Port, where a machine’s address names none.', 1, 65_535).prefault(22),
    hostKeyPolicy: leaf
      .choice(
        HOST_KEY_POLICIES,
        'Where nothing proves a key: tofu pins it at first use; strict refuses it; insecure accepts any.',
      )
      .prefault('tofu'),
    sudo: leaf
      .choice(
        ['auto', 'never', 'always'],
        'Whether commands and files get the rights of root by sudo -n; auto: unless we log in as root.',
      )
      .prefault('auto'),
  });

const agentServerSchema = (around: Surroundings) =>
  filledSection({
    listen: leaf.listen('Where agents report to.').prefault(':8080'),
    keyPath: leaf.file('Private key of the listener (PEM).', around).optional(),
    certificatePath: leaf
      .file('Certificate of the listener (PEM).', around, leaf.isCertificate)
      .optional(),
    devCertificates: section({
      dir: leaf.path('A CA and certificate of our own, made there if absent.', around),
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
      .duration('First wait after a failure.')
      .prefault(formatDuration(defaults.initialMs)),
    exponent: leaf.ratio('Growth of each further wait.', 1, 10).prefault(defaults.exponent),
    maximum: leaf.duration('Longest wait.').prefault(formatDuration(defaults.maximumMs)),
  }).transform(({ initial, exponent, maximum }): BackoffDescriptor => ({
    initialMs: initial,
    exponent,
    maximumMs: maximum,
  }));

const guardSchema = () =>
  filledSection({
    percent: leaf
      .ratio(
        'Machines that recovery interrupts at once, at most: percent of each provider, location and the fleet. Two are allowed in a group of four or more.',
        0,
        100,
      )
      .prefault(DEFAULT_BUDGET.percent),
    perGroupMax: leaf
      .count('Their number in each provider and location, at most.', 1)
      .prefault(DEFAULT_BUDGET.perGroupMax),
    fleetMax: leaf
      .count('Their number in the whole fleet, at most.', 1)
      .prefault(DEFAULT_BUDGET.fleetMax),
    silentMin: leaf
      .count(
        'So many machines may fall silent together before recovery freezes; but never more than half of a scope, nor both of two.',
        1,
      )
      .prefault(DEFAULT_GUARD.silentMin),
    silentPercent: leaf
      .ratio('So many percent of the started machines of a provider or the fleet may.', 0, 100)
      .prefault(DEFAULT_GUARD.silentPercent),
    newFor: leaf
      .duration('Together: within this time.', 1000)
      .prefault(formatDuration(DEFAULT_GUARD.newForMs)),
    calmPercent: leaf
      .ratio('A freeze ends once fewer than so many percent are silent …', 0, 100)
      .prefault(DEFAULT_GUARD.calmPercent),
    calmFor: leaf.duration('… for this long.').prefault(formatDuration(DEFAULT_GUARD.calmForMs)),
    unreachablePercent: leaf
      .ratio('Recovery freezes too when more percent of the machines cannot be reached.', 0, 100)
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
