import { mistakesIn, type Mutation } from './mutation.ts';

const LATITUDE = 'src/simulator/fakelatitude';
const at = (name: string) => `test/simulator/fakelatitude/${name}.test.ts`;
const REFUSALS = [at('refusals')];
const LISTS = [at('lists-and-life')];
const KNOBS = [at('knobs')];
const FAULTS = [at('faults')];
const MACHINES = [at('machines')];

/** The emulator of the API of Latitude.sh. */
export const mutations: readonly Mutation[] = [
  ...mistakesIn(`${LATITUDE}/http/pipeline.ts`, REFUSALS, [
    ['latitude-any-key', 'if (!key) throw refusal', 'if (false) throw refusal'],
    [
      'latitude-reads-and-writes-together',
      "occasion.request.method === 'GET' ? 'read' : 'write'",
      "'read'",
    ],
    ['latitude-no-limits', 'if (waitMs !== undefined) throw tooMany', 'if (false) throw tooMany'],
  ]),
  ...mistakesIn(`${LATITUDE}/http/pipeline.ts`, FAULTS, [
    ['latitude-new-key-revoked-too', 'key.spares.includes(id)', 'false'],
    ['latitude-lag-unheeded', 'Math.max(knobs.listLagMs, lag?.ms ?? 0)', 'knobs.listLagMs'],
    ['latitude-retry-in-both', 'isTold && !hasHeader ? { retry', 'isTold ? { retry'],
    ['latitude-page-of-rules', "page: Number(entry.query['page[number]'] ?? 1)", 'page: undefined'],
  ]),
  ...mistakesIn(`${LATITUDE}/http/limits.ts`, REFUSALS, [
    ['latitude-limit-per-service', '`${kind} ${token}`', 'kind'],
    ['latitude-limit-for-ever', 'atMs > now() - windowMs', 'atMs <= now()'],
    ['latitude-limit-one-too-many', 'times.length >=', 'times.length >'],
    ['latitude-waits-a-whole-window', 'return times[0]! + windowMs - now();', 'return windowMs;'],
  ]),
  ...mistakesIn(`${LATITUDE}/http/request.ts`, LISTS, [
    ['latitude-content-in-journal', "attributes['content'] = '***'", 'void 0'],
  ]),
  ...mistakesIn(`${LATITUDE}/http/request.ts`, REFUSALS, [
    ['latitude-any-content-type', "if (!TYPES.test(headers['content-type'] ?? ''))", 'if (false)'],
  ]),
  ...mistakesIn(`${LATITUDE}/api/input.ts`, REFUSALS, [
    ['latitude-any-type', "if (data['type'] !== type) throw", 'if (false) throw'],
    ['latitude-any-id', "id !== undefined && data['id'] !== id", 'false'],
    ['latitude-empty-is-filled', " || value === ''", ''],
    ['latitude-stray-attributes', '!Object.hasOwn(rules, name)', 'false'],
    ['latitude-names-of-33', '{0,30}', '{0,31}'],
    ['latitude-first-problem-only', 'new ApiError(422, all)', 'new ApiError(422, all.slice(0, 1))'],
  ]),
  ...mistakesIn(`${LATITUDE}/api/input.ts`, KNOBS, [
    ['latitude-missing-is-never-404', '&& status === 404', '&& false'],
  ]),
  ...mistakesIn(`${LATITUDE}/api/servers.ts`, REFUSALS, [
    ['latitude-servers-of-all-teams', 'owner?.teamId !== team.id ||', ''],
    [
      'latitude-list-of-all-teams',
      'world.projects.filter(({ teamId }) => teamId === call.team.id)',
      'world.projects.filter(() => true)',
    ],
  ]),
  ...mistakesIn(`${LATITUDE}/api/servers.ts`, FAULTS, [
    ['latitude-lock-unheeded', 'if (server.locked) throw', 'if (false) throw'],
    ['latitude-hostname-case-counts', 'const asked = value.toLowerCase()', 'const asked = value'],
  ]),
  ...mistakesIn(`${LATITUDE}/api/servers.ts`, LISTS, [
    ['latitude-filter-unheeded', 'return shownFor(server, name) === value', 'return true'],
    ['latitude-moved-to-strangers', 'id === project && teamId === call.team.id', 'id === project'],
  ]),
  ...mistakesIn(`${LATITUDE}/api/servers.ts`, KNOBS, [
    ['latitude-deleted-twice', 'if (server.isLeaving) throw', 'if (false) throw'],
  ]),
  ...mistakesIn(`${LATITUDE}/api/server-create.ts`, REFUSALS, [
    ['latitude-stock-without-end', 'if (left < 1) throw', 'if (false) throw'],
    ['latitude-stock-not-taken', '  addToStock(world, server, -1);\n', ''],
    ['latitude-limit-not-heeded', 'own.length >= team.serversMax', 'false'],
    ['latitude-things-of-others', 'one.projectId === projectId && isThere', 'isThere'],
    ['latitude-any-billing', "isReserved === (billing === 'yearly')", 'true'],
    ['latitude-features-unheeded', '!features[name] && isGiven', 'false && isGiven'],
    [
      'latitude-reserved-by-the-hour',
      "=== 'reserved' ? 'yearly' : 'hourly'",
      "=== '' ? 'yearly' : 'hourly'",
    ],
  ]),
  ...mistakesIn(`${LATITUDE}/api/server-orders.ts`, REFUSALS, [
    ['latitude-off-reboots', "isOff ? action === 'power_on'", 'isOff ? true'],
    ['latitude-acts-while-deploying', "server.status === 'on' && !isInstalling(server)", 'true'],
    ['latitude-reinstalls-while-deploying', 'if (isInstalling(server)) throw', 'if (false) throw'],
  ]),
  ...mistakesIn(`${LATITUDE}/api/server-orders.ts`, LISTS, [
    [
      'latitude-reinstall-forgets',
      "textIn(attributes, 'raid') ?? deploy.raid",
      "textIn(attributes, 'raid') ?? null",
    ],
    ['latitude-cycle-begins-now', '(past + 1) * cycleMs', '(past + 2) * cycleMs'],
  ]),
  ...mistakesIn(`${LATITUDE}/state/world.ts`, REFUSALS, [
    [
      'latitude-flash-is-running',
      "(status === 'on' &&\n    history[0]?.status !== 'on' &&",
      '(false &&\n    history[0] !== undefined &&',
    ],
  ]),
  ...mistakesIn(`${LATITUDE}/api/project-things.ts`, REFUSALS, [
    ['latitude-any-content', '!BASE64.test(text)', 'false'],
    ['latitude-records-of-all-teams', 'owner?.teamId !== team.id ||', ''],
    ['latitude-key-text-unread', 'complaint === undefined ? []', 'true ? []'],
  ]),
  ...mistakesIn(`${LATITUDE}/api/project-things.ts`, FAULTS, [
    ['latitude-other-field-cut', 'cut.field === field', 'cut.field !== field'],
  ]),
  ...mistakesIn(`${LATITUDE}/api/lists.ts`, REFUSALS, [
    [
      'latitude-any-parameter',
      'else if (!others.includes(parameter)) throw',
      'else if (false) throw',
    ],
    ['latitude-page-zero', '/^[1-9]\\d{0,8}$/', '/^\\d{1,9}$/'],
  ]),
  ...mistakesIn(`${LATITUDE}/api/lists.ts`, LISTS, [
    ['latitude-pages-from-zero', '(number - 1) * size', 'number * size'],
    ['latitude-total-of-the-page', 'const total = items.length', 'const total = page.length'],
    ['latitude-total-unasked', "call.query.get('stats[total]') === 'count'", 'true'],
  ]),
  ...mistakesIn(`${LATITUDE}/api/views.ts`, FAULTS, [
    ['latitude-list-shows-now', 'history.findLast((one) => one.atMs <= atMs)', 'history.at(-1)'],
    ['latitude-never-stale', 'clock.now() < server.staleOnUntilMs', 'false'],
  ]),
  ...mistakesIn(`${LATITUDE}/api/views.ts`, LISTS, [
    ['latitude-time-in-milliseconds', '.slice(0, 19)}+00:00', '}'],
    [
      'latitude-short-is-long',
      "    label: server.label,\n    role: 'Bare Metal',\n    status: server.status,",
      "    label: server.label,\n    locked: false,\n    role: 'Bare Metal',\n    status: server.status,",
    ],
  ]),
  ...mistakesIn(`${LATITUDE}/life/life.ts`, FAULTS, [
    ['latitude-fails-too-late', 'askedAtMs + timings.failMs - clock.now()', 'timings.failMs'],
    ['latitude-stuck-is-not', "if (strikes('deployStuck', server))", 'if (false)'],
  ]),
  ...mistakesIn(`${LATITUDE}/life/life.ts`, LISTS, [
    ['latitude-gone-and-waiting', "timers.clear(server.id, 'removal');\n    server", 'server'],
    [
      'latitude-removal-not-taken-back',
      "if (atMs === null) timers.clear(server.id, 'removal');\n      else ",
      'if (atMs !== null) ',
    ],
  ]),
  ...mistakesIn(`${LATITUDE}/life/life.ts`, REFUSALS, [
    ['latitude-stock-not-given-back', '    addToStock(world, server, 1);\n', ''],
  ]),
  ...mistakesIn(`${LATITUDE}/life/life.ts`, MACHINES, [
    [
      'latitude-on-before-it-is',
      "      move(server, 'on');\n      machines.install(server, isFirst);",
      "      move(server, 'on');",
    ],
    [
      'latitude-runs-while-erasing',
      "      move(server, 'disk_erasing');\n      machines.down(server);",
      "      move(server, 'disk_erasing');",
    ],
    [
      'latitude-reboot-is-none',
      '        machines.down(server);\n        const leftMs',
      '        const leftMs',
    ],
    ['latitude-machine-stays', '    machines.gone(server);\n', ''],
  ]),
  ...mistakesIn(`${LATITUDE}/life/server-machines.ts`, MACHINES, [
    [
      'latitude-old-system-kept',
      'if (isFirst) await hooks.assign(system);\n        else await hooks.reinstalled(server.id, system);',
      'await hooks.assign(system);',
    ],
    [
      'latitude-always-root',
      '...(user !== undefined && { user })',
      '...(user === undefined && { user: "root" })',
    ],
    ['latitude-content-read-late', "knobs.userDataRead === 'atRequest'", 'false'],
    [
      'latitude-user-data-heeded',
      "content === null || strikes('userDataIgnored', server)",
      'content === null',
    ],
    ['latitude-key-installed', "strikes('keyNotInstalled', server) ? [] : keys", 'keys'],
  ]),
  ...mistakesIn(`${LATITUDE}/life/timers.ts`, LISTS, [
    ['latitude-long-waits-are-short', 'if (delayMs > stepMs) set', 'if (false) set'],
  ]),
  ...mistakesIn(
    'src/simulator/hosts/cloud-config.ts',
    ['test/simulator/hosts/cloud-config.test.ts'],
    [
      ['hosts-any-head', '/^#cloud-config\\s*(\\n|$)/', '/^#cloud-config/'],
      [
        'hosts-base64-as-it-is',
        "const isEncoded = encoding !== 'text/plain'",
        'const isEncoded = false',
      ],
      ['hosts-modes-unheeded', 'Number.parseInt(permissions, 8)', '0o644'],
      ['hosts-files-not-removed', 'await disk.remove(path)', 'void path'],
    ],
  ),
  ...mistakesIn(
    'src/simulator/hosts/machine.ts',
    ['test/simulator/hosts/cloud-config.test.ts'],
    [['hosts-anybody-logs-in', 'attempt.username === user &&', '']],
  ),
];
