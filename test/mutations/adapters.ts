import { mutationsOf } from './mutation.ts';

/** The adapters for agents, SSH, providers and metrics. */
export const mutations = mutationsOf`
src/domain/strangers.ts test/adapters/agents/hostile.test.ts
  connections-come-at-any-rate: [-      if (!connects.take(network)) return false;\n-]
src/adapters/agents/limits.ts test/adapters/agents/strangers.test.ts
  a-heard-agent-keeps-its-refusals: [-    refusals.delete(session);\n-]
  a-heard-agent-stays-a-stranger: [-    strangers.known(session.socket);\n-]
  refused-calls-end-no-connection: [-      if (count > limits.refusedCallsMax) session.destroy();\n-]
src/adapters/agents/heartbeat-service.ts test/adapters/agents/intake.test.ts
  who-comes-alone-waits-for-others:
    \_\_\_\_\_\_const waitMs = [-nextMs - clock.monotonic()-]{+batch.gapMs+};\n
  batches-begin-at-any-rate: [-      nextMs = clock.monotonic() + batch.gapMs;\n-]
  enough-heartbeats-wait-all-the-same: \_\_\_\_sizeEnough: [-batch.enough-]{+Infinity+},\n
src/adapters/bmdb/pg/statement.ts test/adapters/bmdb/pg/statement-costs.test.ts -t heartbeats
  keys-are-sent-as-text: type === 'bytea[-[]-]') return
src/adapters/agents/call-handler.ts test/adapters/agents/call-limit.test.ts
  a-call-may-take-for-ever-after-another: [-        timer = clock.setTimeout(cutOffLate, leftMs);\n-]
src/adapters/agents/front-thread.ts test/adapters/agents/front-thread.test.ts
  any-number-of-debug-lines: level !== 'debug' || debugLines.[-take('')-]{+has('') || true+}
src/adapters/agents/front-thread.ts test/adapters/agents/renewal.test.ts
  new-keys-are-not-presented:
    if (message.kind === 'present') [-front.present(message.tls-]{+metrics.flush(+});
src/adapters/agents/agent-server-thread.ts test/adapters/agents/renewal.test.ts
  unusable-keys-reach-the-thread: \_\_\_\_\_\_[-assertUsable(tls);\n      -]tell(
  a-failed-store-counts-for-ever: \_\_\_\_\_\_\_\_[-brokenAtMs = -Infinity;\n        -]outcomes
src/adapters/agents/agent-server-thread.ts test/adapters/agents/renewal.test.ts test/adapters/agents/agents.contract.test.ts
  the-thread-takes-in-without-a-session:
    [-        if (!isReady()) throw new Unreachable('the daemon has no live session');\n-]
src/adapters/agents/heartbeat-service.ts test/adapters/agents/http2-agent-server.test.ts
  a-request-of-another-generation-is-handed-out: if (generation >= 1n[- && isRight-])
  a-bad-caller-locks-agents-out:
    [-(isKnown || refusalsOfNetwork.has(network)-]{+refusalsOfNetwork.has(network+})
  refusals-cost-nothing: [-      refusalsOfNetwork.take(network);\n-]
src/adapters/ssh/ssh2-shell.ts test/adapters/ssh/ssh2-shell.test.ts
  a-password-for-any-host:
    way[-?.type !== 'password' || hostKey?.toString('base64') === target.hostKey-]{+ !== undefined || hostKey === undefined+}
src/adapters/ssh/ssh2-shell.ts test/adapters/ssh/algorithms.test.ts
  a-host-key-may-change-in-between: \_\_\_\_\_\_if (hostKey[-.equals(key)-]{+ !== undefined+}) return true;\n
src/adapters/ssh/ssh2-upload.ts test/adapters/ssh/shell.contract.test.ts test/adapters/ssh/sshd-upload.test.ts
  a-part-of-another-content-is-continued:
    [-sha256(content.subarray(0, sizeBytes)) === sum ? sizeBytes : 0-]{+sum === undefined ? 0 : sizeBytes+}
src/adapters/ssh/ssh2-upload.ts test/adapters/ssh/ssh2-shell.test.ts
  sftp-is-left-to-close: [-await-]{+void+} opened.close();
src/adapters/ssh/ssh2-upload.ts test/adapters/ssh/sshd-compressed.test.ts
  a-part-is-unpacked-in-place-of-its-content: [-right-]{+: right+} "$ready" || fail
src/adapters/ssh/ssh2-link.ts test/adapters/ssh/sshd-compressed.test.ts
  a-slow-upload-is-ended: if (!isOver[-)-]{+ && !isRenewable)+} timer
src/agent-bundle.ts test/agent/agent-bundle.test.ts
  another-program-is-sent-compressed: xz !== null[- && checkOf(xz) === sha256-];
src/adapters/ssh/sftp-file.ts test/adapters/ssh/sftp-file.test.ts
  a-chunk-is-written-out-of-turn: \_\_\_\_\_\_[-await-]{+void+} turn();\n
  the-youngest-upload-goes-first: other.upload [-<-]{+>+}= upload
src/adapters/ssh/ssh2-link.ts test/adapters/ssh/ssh2-link.test.ts
  a-system-call-for-each-piece-of-a-packet: [-  writeTogether(socket);\n-]
  a-key-is-read-for-each-packet: \_\_client.[-on-]{+once+}('handshake', () => readKeysOnce(client));\n
src/adapters/ssh/ssh2-exec.ts test/adapters/ssh/shell.contract.test.ts test/adapters/ssh/ssh2-shell.test.ts
  output-without-an-end: \_\_\_\_if (sizeBytes [-> outputBytesMax-]{+< 0+}) {\n
src/adapters/ssh/key-ring.ts test/adapters/ssh/key-ring.test.ts
  too-many-keys-are-offered: \_\_if (keys.length <= {+2 * +}signersMax) return keys;
src/adapters/driver-kit/calls.ts test/adapters/driver-kit/calls.test.ts test/adapters/driver-kit/entries.test.ts
  a-refusal-hides-what-was-done: refused [-&& facetsOf(error).outcome === 'not-done' -]? refused.cause : error
src/adapters/driver-kit/calls.ts test/adapters/provider/equinix/turns.test.ts
  what-called-it-off-is-hidden: [-        refused = { cause };\n-]
src/adapters/driver-kit/calls.ts test/adapters/driver-kit/calls.test.ts
  a-driver-that-hangs-is-waited-for:
    timer = clock.setTimeout(() => [-reject(UNHEEDED)-]{+undefined+}, HEED_MS);
  a-wait-for-a-turn-uses-up-the-limit: \_\_\_\_const endWait = [-limit.wait()-]{+(): void => undefined+};
src/adapters/driver-kit/calls.ts test/adapters/driver-kit/calls.test.ts test/adapters/driver-kit/fleet-provider.test.ts
  a-stopped-provider-answers:
    [-    if (stopping.signal.aborted) throw new ProviderError('stopped', \`\${name} was stopped\`);\n-]
src/adapters/driver-kit/calls.ts test/adapters/driver-kit/changes.test.ts
  an-unseen-machine-is-acted-on:
    if (!isOurs)[-\n        throw new ProviderError('permanent', 'the driver did not check the owner of the machine')-]{+ void 0+};
src/adapters/driver-kit/looks.ts test/adapters/driver-kit/changes.test.ts
  a-foreign-machine-is-acted-on: if (ownership [-=== 'ours-]{+!== 'foreign+}') return;
src/adapters/driver-kit/looks.ts test/adapters/driver-kit/fleet-provider.test.ts test/adapters/driver-kit/entries.test.ts
  a-driver-answers-of-another-machine: if (machine.id [-=== id-]{+!== null+}) return machine;
src/adapters/driver-kit/looks.ts test/adapters/driver-kit/absence.test.ts
  not-found-is-believed-at-once: [-    await absence.confirm(gone, error, signal);\n-]
src/adapters/driver-kit/orders.ts test/adapters/driver-kit/fleet-provider.test.ts
  a-driver-that-cannot-is-asked: [-      require('reboot');\n-]
src/adapters/driver-kit/orders.ts test/adapters/driver-kit/changes.test.ts
  a-change-without-a-look-succeeded: if (running.isLookedAt(){+ || true+}) return answer;
  a-wait-for-another-change-uses-up-the-limit:
    \_\_\_\_const endWait = [-limit.wait()-]{+(): void => undefined+};
src/adapters/driver-kit/call.ts test/adapters/provider/equinix/client/vectors-creation.test.ts
  aborted-while-it-was-checked-and-sent:
    \_\_\_\_await request.beforeAttempt?.([-);\n    if (signal.aborted) throw cancelled(-]);\n
  sent-before-it-is-checked: \_\_\_\_[-await-]{+void+} request.beforeAttempt?.();\n
src/adapters/driver-kit/call.ts test/adapters/provider/equinix/client/vectors-calls.test.ts
  a-refused-token-is-tried-again: \_\_\_\_if (refusal.holds(token){+ && token === ''+}) {
  tokens-may-rotate-for-ever: !rotated[- || ++spent.rotations > 1-]
src/adapters/driver-kit/call.ts test/adapters/provider/equinix/client/vectors-creation.test.ts test/adapters/provider/equinix/client/vectors-mutations.test.ts
  an-answer-that-was-lost-is-asked-again:
    \_\_\_\_if (type === 'ambiguous') {+return 'timeout';\n    if (type === 'ambiguous') +}{\n
src/adapters/driver-kit/call.ts test/adapters/provider/equinix/turns.test.ts -t three daemons
  waits-for-a-turn-count-against-the-limit:
    const outer = {+null as ReturnType<NonNullable<typeof +}waitsForTurn[-?.()-]{+>> | null+};
src/adapters/driver-kit/call.ts test/adapters/provider/equinix/turns.test.ts
  a-wait-that-the-server-asks-for-uses-up-the-limit:
    \_\_\_\_const [-{ end } = beginWait()-]{+end = (): void => undefined+};
  a-deletion-waits-like-all-others: urgent[-: urgent || isUrgentCall-],
src/adapters/driver-kit/time-limit.ts test/adapters/driver-kit/changes.test.ts
  two-changes-of-a-machine-at-once: [-if (before) await unlessAborted(before, signal);-]
src/adapters/driver-kit/time-limit.ts test/adapters/driver-kit/time-limit.test.ts
  who-leaves-the-line-frees-the-lock: void [-tail-]{+mine.promise+}.then(() => {
src/adapters/provider/equinix/client.ts test/adapters/provider/equinix/turns.test.ts
  the-look-at-the-device-comes-early:
    {+await how.look?.();\n      +}const before = await eventIds(call, id);[-\n      await how.look?.();-]\n
src/adapters/provider/equinix/client.ts test/adapters/provider/equinix/lies.test.ts
  another-device-is-an-answer:
    get(call, at(call, 'devices', id), [-ofId(device, id)-]{+device+}, { ...query });
  another-key-is-an-answer: get(call, at(call, 'ssh-keys', id), [-ofId(sshKey, id)-]{+sshKey+});
src/actors/guard/watch.ts test/actors/guard/provide-guard.test.ts
  silent-machines-are-the-newly-silent:
    'shepherd_guard_silent_machines', { scope }, each.[-silent-]{+newlySilent+});
  a-scope-that-is-gone-stays-in-the-metrics: [-  for (const gauge of GAUGES) metrics.clear(gauge);\n-]
src/actors/provisioning/services.ts test/actors/provisioning/record.test.ts
  failed-devices-are-told-as-orphans:
    'shepherd_provider_discrepancies', { provider, kind }, summary[{+kind === 'orphan' ? 'failed' : +}kind]);
  free-slots-are-told-as-used:
    'shepherd_provider_capacity', { provider, kind }, summary[{+kind === 'used' ? 'free' : +}kind]);
src/daemon/views/state-gauges.ts test/daemon/views/state-gauges.test.ts
  what-was-scraped-before-is-shown: [-    for (const gauge of REPLACED) metrics.clear(gauge);\n-]
  what-another-daemon-provisions-is-shown:
    [-      for (const gauge of OF_PROVISIONER) metrics.clear(gauge, { provider });\n-]
src/adapters/metrics/prom-metrics.ts test/adapters/metrics/prom-metrics.test.ts
  gauges-of-other-pools-go-too: wanted.[-every-]{+some+}(
  what-is-known-from-the-start-begins-with-the-first-event:
    [-counters.get(name)!.inc(labels, 0);-]{+continue;+}
`;
