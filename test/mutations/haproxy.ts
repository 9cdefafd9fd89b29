import { mutationsOf } from './mutation.ts';

/** The driver of HAProxy. Without the program its tests are left out, and nobody notices any of these. */
export const mutations = mutationsOf`
src/adapters/balancer/haproxy/files.ts test/adapters/balancer/haproxy/faults.test.ts -t is left alone
  haproxy-overwrites-a-file-without-a-mark:
    if (text [-=== null || isMarked(text, owner)-]{+!== undefined+}) return;
src/adapters/balancer/haproxy/files.ts test/adapters/balancer/haproxy/faults.test.ts -t vector 23
  haproxy-checks-without-the-candidate:
    [-for (const { owner, text } of candidates) texts.set(basename(pathOf(owner)), text);-]
  haproxy-checks-without-the-base-files: [[-...baseFiles, -]dir]
src/adapters/balancer/haproxy/files.ts test/adapters/balancer/haproxy/together.test.ts -t leave each other’s checks alone
  haproxy-removes-what-others-check: [-nowMs - found.mtimeMs > DEAD_MS-]{+found+}
src/adapters/balancer/haproxy/changes.ts test/adapters/balancer/haproxy/faults.test.ts -t vector 23
  haproxy-candidates-are-not-checked: [-await files.check(candidates, closing.signal);\n      -]if
  haproxy-leaves-a-file-that-cannot-be-loaded: [-for (const candidate of before) await files.put(candidate);-]
src/adapters/balancer/haproxy/changes.ts test/adapters/balancer/haproxy/at-once.test.ts -t refuse only the servers
  haproxy-takes-one-pools-mistake-for-anothers:
    else if (done.length [-=== 1) done[0]!.-]{+>= 1) for (const { waiting } of done) +}waiting.reject(failure);
  haproxy-tries-ports-that-others-have:
    await requireFree([-newEnds(reshaped, await runTimes.read(closing.signal))-]{+[]+});
src/adapters/balancer/haproxy/changes.ts test/adapters/balancer/haproxy/left-behind.test.ts -t do not make a driver forget
  haproxy-breaks-a-reload-off-when-closed: await master.reload([-toTheEnd-]{+closing.signal+})
src/adapters/balancer/haproxy/changes.ts test/adapters/balancer/haproxy/left-behind.test.ts -t own pool’s changes fail
  haproxy-fails-all-for-one-unreadable-pool:
    const found = looks.get(owner.suffix) ?? {+Promise.resolve(await +}draftOf(owner){+)+};
src/adapters/balancer/haproxy/changes.ts test/adapters/balancer/haproxy/traffic.test.ts -t both lost files of a pool
  haproxy-takes-a-pool-without-files-for-nothing: if (text === [-null && loadedText === null-]{+undefined+}) {
  haproxy-loads-a-lost-pool-without-its-servers:
    return { owner, file: [-served-]{+emptyFile()+}, loaded: served,
src/adapters/balancer/haproxy/changes.ts test/adapters/balancer/haproxy/at-once.test.ts test/adapters/balancer/haproxy/run-time.test.ts -t do not try each change
  haproxy-tries-each-though-all-is-refused: if (isWithout{+ && all.length === 0+}) {
src/adapters/balancer/haproxy/tables.ts test/adapters/balancer/haproxy/left-behind.test.ts -t include no own listener
  haproxy-takes-its-own-listener-for-a-strangers:
    pools.[-some(({ owner }) => isOf(owner, name))-]{+length === 0+}
src/adapters/balancer/haproxy/pool-file.ts test/adapters/balancer/haproxy/left-behind.test.ts -t written by a person
  haproxy-keeps-what-it-cannot-write:
    [-CHECK_PATH.test(path) ? { by: 'http', path } : { by: 'tcp'-]{+{ by: 'http', path+} }
src/adapters/balancer/haproxy/pool-file.ts test/adapters/balancer/haproxy/traffic.test.ts -t stays on a drained server
  haproxy-drained-servers-come-back-with-a-reload: drain: 'weight [-0-]{+1+}'
src/adapters/balancer/haproxy/driver.ts test/adapters/balancer/haproxy/left-behind.test.ts -t own pool’s changes fail
  haproxy-fails-all-for-one-unwritable-server: [-requireSpec({ kind: 'server', name, ...server });-]
src/adapters/balancer/haproxy/run-time.ts test/adapters/balancer/haproxy/at-once.test.ts test/adapters/balancer/haproxy/run-time.test.ts -t that came out right|gone that stays
  haproxy-takes-for-done-what-it-said: new Set(changes[-.filter((each) => isMade(each, now, left))-])
src/adapters/balancer/haproxy/run-time.ts test/adapters/balancer/haproxy/at-once.test.ts test/adapters/balancer/haproxy/run-time.test.ts -t create, enable, drain
  haproxy-makes-servers-one-by-one:
    new Set[-(changes.filter((each) => isMade(each, now, left))-]{+<ServerChange>(+})
src/adapters/balancer/haproxy/run-time.ts test/adapters/balancer/haproxy/traffic.test.ts -t stays on a drained server
  haproxy-forgets-the-connections-of-old-workers:
    [-if (answer !== null) tableOf(answer, ',', 'pxname').filter(isServer).forEach(count)-]{+void answer+};
  haproxy-leaves-the-connections-of-old-workers: for (const pid of [worker[-, ...old-]]) {
src/adapters/balancer/haproxy/master.ts test/adapters/balancer/haproxy/together.test.ts -t fail neither looks nor changes
  haproxy-takes-a-reload-for-its-end: [-if (!(error instanceof Unreachable)) -]throw error;
`;
