import { mutationsOf } from './mutation.ts';

/** The emulator of the API of Latitude.sh. */
export const mutations = mutationsOf`
emulators/latitude/api.ts test/emulators/latitude/behaviour.test.ts
  latitude-any-key: if ([-!isSameSecret(token, shown)-]{+false+}) {
  latitude-reads-and-writes-together: [-method === 'GET' ? 'reads' : 'writes-]{+'reads+}'
  latitude-no-limits: if (waitMs === undefined{+ || meta !== waitMs+}) return;
  latitude-content-in-journal: (key === 'content' ? [-'***'-]{+value+} : value)
  latitude-page-of-rules: page: [-Number(query.get('page[number]') ?? 1)-]{+undefined+}
emulators/latitude/limits.ts test/emulators/latitude/behaviour.test.ts
  latitude-limit-for-ever: atMs [-> now() - windowMs-]{+<= now()+}
  latitude-limit-one-too-many: times.length >[-=-]
  latitude-waits-a-whole-window: return [-times[0]! + windowMs - now()-]{+windowMs+};
emulators/latitude/input.ts test/emulators/latitude/behaviour.test.ts
  latitude-any-type: if ([-data.type !== type-]{+false+}) throw
  latitude-any-id: [-id !== undefined && data.id !== id-]{+false+}
  latitude-stray-attributes: if (issue.code !== 'unrecognized_keys'{+ || root !== ''+}) {
  latitude-names-of-33: {0,[-30-]{+31+}}
  latitude-first-problem-only: return issues.{+slice(0, 1).+}flatMap(
emulators/latitude/reads.ts test/emulators/latitude/behaviour.test.ts
  latitude-project-unheeded: [-project === undefined || one.projectId === project-]{+true+}
  latitude-hostname-case-counts: filters.get('hostname')[-?.toLowerCase()-]
  latitude-lag-unheeded: now() - ([-call.strike('listLag')?.ms ?? -]0)
emulators/latitude/servers.ts test/emulators/latitude/behaviour.test.ts
  latitude-lock-unheeded: if ([-call.strikeServer(server, 'locked')-]{+false+}) throw
  latitude-stock-without-end: if ([-left < 1-]{+false+}) throw
  latitude-any-billing: isReserved(project) === [-(billing === 'yearly')-]{+isReserved(project)+}
emulators/latitude/world.ts test/emulators/latitude/behaviour.test.ts
  latitude-stock-not-taken: [-  addToStock(world, server, -1);\n-]
emulators/latitude/orders.ts test/emulators/latitude/behaviour.test.ts
  latitude-off-reboots: isOff ? [-wanted === 'power_on'-]{+true+} : isOn
  latitude-acts-while-deploying: server.status === 'on'[- && !server.isInstalling-];
  latitude-reinstalls-while-deploying: if ([-server.isInstalling-]{+false+}) throw
  latitude-reinstall-forgets: wanted.raid ?? [-deploy.raid-]{+null+}
  latitude-cycle-begins-now: (past + [-1-]{+2+}) * cycleMs
emulators/latitude/project-resources.ts test/emulators/latitude/behaviour.test.ts
  latitude-any-content: [-.refine(isBase64, 'is not base64')-]
  latitude-key-text-unread: filled[-.regex(PUBLIC_KEY, 'is not an OpenSSH public key')-],\n    project
emulators/latitude/lists.ts test/emulators/latitude/behaviour.test.ts
  latitude-any-parameter: else if ([-![SIZE, NUMBER, 'stats[total]'].includes(parameter)-]{+false+}) {
  latitude-page-zero: /^[-[1-9]\\d{0,8-]{+\\d{1,9+}}$/
  latitude-pages-from-zero: items.slice([-(number - 1)-]{+number+} * size
  latitude-total-of-the-page: const total = [-items-]{+page+}.length
  latitude-total-unasked: [-call.query.get('stats[total]') === 'count'-]{+true+}
emulators/latitude/views.ts test/emulators/latitude/behaviour.test.ts
  latitude-time-in-milliseconds: [-.slice(0, 19)}+00:00-]{+}+}
  latitude-short-is-long:
    \_\_\_\_label: server.label,\n    {+locked: false,\n    +}role: 'Bare Metal',\n    status: server.status,
emulators/latitude/life/life.ts test/emulators/latitude/behaviour.test.ts
  latitude-fails-too-late: [-requestedAtMs + timings.failMs - clock.now()-]{+timings.failMs+}
  latitude-stock-not-given-back: [-    addToStock(world, server, 1);\n-]
  latitude-on-before-it-is: \_\_\_\_\_\_settle(server, 'on');[-\n      machines.install(server, isFirst);-]
  latitude-runs-while-erasing: \_\_\_\_\_\_server.isInstalling = true;[-\n      machines.down(server);-]
  latitude-reboot-is-none: \_\_\_\_\_\_\_\_[-machines.down(server);\n        -]const leftMs
  latitude-machine-stays: [-    machines.gone(server);\n-]
emulators/latitude/life/server-machines.ts test/emulators/latitude/behaviour.test.ts
  latitude-old-system-kept:
    [-if (isFirst) -]await hooks.assign(system);[-\n        else await hooks.reinstalled(server.id, system);-]
  latitude-always-root: slug === [-deploy.operatingSystem)!.user-]{+deploy.operatingSystem) && "root"+}
emulators/latitude/life/timers.ts test/emulators/latitude/behaviour.test.ts
  latitude-long-waits-are-short: if ([-delayMs > stepMs-]{+false+}) set
`;
