import { mutationsOf } from './mutation.ts';

/** The emulator of the API of Latitude.sh. */
export const mutations = mutationsOf({
  'emulators/latitude/http/pipeline.ts test/emulators/latitude/requests.test.ts': {
    'latitude-any-key': 'if ([-!key-]{+false+}) throw refusal',
    'latitude-reads-and-writes-together':
      "[-occasion.request.method === 'GET' ? 'read' : 'write-]{+'read+}'",
    'latitude-no-limits': 'if ([-waitMs !== undefined-]{+false+}) throw tooMany',
  },
  'emulators/latitude/http/pipeline.ts test/emulators/latitude/faults.test.ts': {
    'latitude-new-key-revoked-too': '[-key.spares.includes(id)-]{+false+}',
    'latitude-lag-unheeded': '[-Math.max(knobs.listLagMs, lag?.ms ?? 0)-]{+knobs.listLagMs+}',
    'latitude-retry-in-both': 'isTold [-&& !hasHeader -]? { retry',
    'latitude-page-of-rules': "page: [-Number(entry.query['page[number]'] ?? 1)-]{+undefined+}",
  },
  'emulators/latitude/http/limits.ts test/emulators/latitude/requests.test.ts': {
    'latitude-limit-per-service': '[-`${kind} ${token}`-]{+kind+}',
    'latitude-limit-for-ever': 'atMs [-> now() - windowMs-]{+<= now()+}',
    'latitude-limit-one-too-many': 'times.length >[-=-]',
    'latitude-waits-a-whole-window': 'return [-times[0]! + windowMs - now()-]{+windowMs+};',
  },
  'emulators/latitude/http/request.ts test/emulators/latitude/requests.test.ts': {
    'latitude-content-in-journal': "[-attributes['content'] = '***'-]{+void 0+}",
    'latitude-any-content-type': "if ([-!TYPES.test(headers['content-type'] ?? '')-]{+false+})",
  },
  'emulators/latitude/api/input.ts test/emulators/latitude/requests.test.ts': {
    'latitude-any-type': "if ([-data['type'] !== type-]{+false+}) throw",
    'latitude-any-id': "[-id !== undefined && data['id'] !== id-]{+false+}",
    'latitude-empty-is-filled': "[- || value === ''-]",
    'latitude-stray-attributes': '[-!Object.hasOwn(rules, name)-]{+false+}',
    'latitude-names-of-33': '{0,[-30-]{+31+}}',
    'latitude-first-problem-only': 'new ApiError(422, all{+.slice(0, 1)+})',
  },
  'emulators/latitude/api/input.ts test/emulators/latitude/knobs.test.ts': {
    'latitude-missing-is-never-404': '&& [-status === 404-]{+false+}',
  },
  'emulators/latitude/api/servers.ts test/emulators/latitude/requests.test.ts': {
    'latitude-servers-of-all-teams': '[-owner?.teamId !== team.id ||-]',
    'latitude-list-of-all-teams':
      'world.projects.filter(([-{ teamId }) => teamId === call.team.id-]{+) => true+})',
    'latitude-filter-unheeded': 'return [-shownFor(server, name) === value-]{+true+}',
    'latitude-moved-to-strangers': 'id === project[- && teamId === call.team.id-]',
  },
  'emulators/latitude/api/servers.ts test/emulators/latitude/faults.test.ts': {
    'latitude-lock-unheeded': 'if ([-server.locked-]{+false+}) throw',
    'latitude-hostname-case-counts': 'const asked = value[-.toLowerCase()-]',
  },
  'emulators/latitude/api/servers.ts test/emulators/latitude/knobs.test.ts': {
    'latitude-deleted-twice': 'if ([-server.isLeaving-]{+false+}) throw',
  },
  'emulators/latitude/api/server-create.ts test/emulators/latitude/requests.test.ts': {
    'latitude-stock-without-end': 'if ([-left < 1-]{+false+}) throw',
    'latitude-stock-not-taken': '[-  addToStock(world, server, -1);\n-]',
    'latitude-limit-not-heeded': '[-own.length >= team.serversMax-]{+false+}',
    'latitude-things-of-others': '[-one.projectId === projectId && -]isThere',
    'latitude-any-billing': "[-isReserved === (billing === 'yearly')-]{+true+}",
    'latitude-features-unheeded': '[-!features[name]-]{+false+} && isGiven',
    'latitude-reserved-by-the-hour': "=== '[-reserved-]' ? 'yearly' : 'hourly'",
  },
  'emulators/latitude/api/server-orders.ts test/emulators/latitude/requests.test.ts': {
    'latitude-off-reboots': "isOff ? [-action === 'power_on'-]{+true+}",
    'latitude-acts-while-deploying': "[-server.status === 'on' && !isInstalling(server)-]{+true+}",
    'latitude-reinstalls-while-deploying': 'if ([-isInstalling(server)-]{+false+}) throw',
  },
  'emulators/latitude/api/server-orders.ts test/emulators/latitude/life.test.ts': {
    'latitude-reinstall-forgets': "textIn(attributes, 'raid') ?? [-deploy.raid-]{+null+}",
    'latitude-cycle-begins-now': '(past + [-1-]{+2+}) * cycleMs',
  },
  'emulators/latitude/state/world.ts test/emulators/latitude/life.test.ts': {
    'latitude-flash-is-running':
      "([-status === 'on'-]{+false+} &&\n    history[0][-?.status !== 'on'-]{+ !== undefined+} &&",
  },
  'emulators/latitude/api/project-things.ts test/emulators/latitude/requests.test.ts': {
    'latitude-any-content': '[-!BASE64.test(text)-]{+false+}',
    'latitude-records-of-all-teams': '[-owner?.teamId !== team.id ||-]',
    'latitude-key-text-unread': '[-complaint === undefined-]{+true+} ? []',
  },
  'emulators/latitude/api/project-things.ts test/emulators/latitude/faults.test.ts': {
    'latitude-other-field-cut': 'cut.field [-=-]{+!+}== field',
  },
  'emulators/latitude/api/lists.ts test/emulators/latitude/requests.test.ts': {
    'latitude-any-parameter': 'else if ([-!others.includes(parameter)-]{+false+}) throw',
    'latitude-page-zero': '/^[-[1-9]\\d{0,8-]{+\\d{1,9+}}$/',
    'latitude-pages-from-zero': '[-(number - 1)-]{+number+} * size',
    'latitude-total-of-the-page': 'const total = [-items-]{+page+}.length',
    'latitude-total-unasked': "[-call.query.get('stats[total]') === 'count'-]{+true+}",
  },
  'emulators/latitude/api/views.ts test/adapters/provider/latitude/changes.test.ts': {
    'latitude-never-stale': '[-clock.now() < server.staleOnUntilMs-]{+false+}',
  },
  'emulators/latitude/api/views.ts test/emulators/latitude/faults.test.ts': {
    'latitude-list-shows-now': 'history.[-findLast((one) => one.atMs <= atMs-]{+at(-1+})',
  },
  'emulators/latitude/api/views.ts test/emulators/latitude/life.test.ts': {
    'latitude-time-in-milliseconds': '[-.slice(0, 19)}+00:00-]{+}+}',
    'latitude-short-is-long':
      "    label: server.label,\n    {+locked: false,\n    +}role: 'Bare Metal',\n    status: server.status,",
  },
  'emulators/latitude/life/life.ts test/emulators/latitude/faults.test.ts': {
    'latitude-fails-too-late': '[-askedAtMs + timings.failMs - clock.now()-]{+timings.failMs+}',
    'latitude-stuck-is-not': "if ([-strikes('deployStuck', server)-]{+false+})",
  },
  'emulators/latitude/life/life.ts test/emulators/latitude/requests.test.ts': {
    'latitude-gone-and-waiting': "[-timers.clear(server.id, 'removal');\n    -]server",
    'latitude-removal-not-taken-back':
      "if (atMs [-=== null) timers.clear(server.id, 'removal');\n      else-]{+!== null)+} ",
    'latitude-stock-not-given-back': '[-    addToStock(world, server, 1);\n-]',
  },
  'emulators/latitude/life/life.ts test/emulators/latitude/machines.test.ts': {
    'latitude-on-before-it-is':
      "      move(server, 'on');[-\n      machines.install(server, isFirst);-]",
    'latitude-runs-while-erasing':
      "      move(server, 'disk_erasing');[-\n      machines.down(server);-]",
    'latitude-reboot-is-none': '        [-machines.down(server);\n        -]const leftMs',
    'latitude-machine-stays': '[-    machines.gone(server);\n-]',
  },
  'emulators/latitude/life/server-machines.ts test/emulators/latitude/machines.test.ts': {
    'latitude-old-system-kept':
      '[-if (isFirst) -]await hooks.assign(system);[-\n        else await hooks.reinstalled(server.id, system);-]',
    'latitude-always-root':
      '...(user [-!== undefined && { user-]{+=== undefined && { user: "root"+} })',
    'latitude-content-read-late': "[-knobs.userDataRead === 'atRequest'-]{+false+}",
    'latitude-user-data-heeded': "content === null[- || strikes('userDataIgnored', server)-]",
    'latitude-key-installed': "[-strikes('keyNotInstalled', server) ? [] : -]keys",
  },
  'emulators/latitude/life/timers.ts test/emulators/latitude/life.test.ts': {
    'latitude-long-waits-are-short': 'if ([-delayMs > stepMs-]{+false+}) set',
  },
  'emulators/hosts/cloud-config.ts test/emulators/hosts/first-boot.test.ts': {
    'hosts-any-head': '/^#cloud-config[-\\s*(\\n|$)-]/',
    'hosts-base64-as-it-is': "const isEncoded = [-encoding !== 'text/plain'-]{+false+}",
    'hosts-modes-unheeded': '[-Number.parseInt(permissions, 8)-]{+0o644+}',
    'hosts-files-not-removed': '[-await disk.remove(path)-]{+void path+}',
  },
  'emulators/hosts/machine.ts test/emulators/hosts/first-boot.test.ts': {
    'hosts-anybody-logs-in': '[-attempt.username === user &&-]',
  },
});
