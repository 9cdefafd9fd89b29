import { mutationsOf } from './mutation.ts';

/** The provisioner's chart, the cell's, and the parts around charts that keep their promises. */
export const mutations = mutationsOf`
src/machines/provisioner.ts test/model/provisioner.rules.test.ts
  provisioner-next-round-without-the-lease: after: { period: { target: '[-awaitingLease-]{+resolving+}' } },
  provisioner-after-a-pause-without-the-lease: after: { pause: { target: '[-awaitingLease-]{+listing+}' } },
  provisioner-after-a-failure-without-the-lease:
    after: { backoff: { target: '[-awaitingLease-]{+resolving+}' } },
  provisioner-begins-without-the-lease: initial: '[-awaitingLease-]{+resolving+}',
  provisioner-goes-on-without-the-lease:
    onDone, onError{+: src === 'takeLease' ? { target: 'resolving' } : onError+} } };
  provisioner-settles-nothing: { target: '[-resolving-]{+listing+}' },\n    ),\n    resolving
  provisioner-creates-in-spite-of-open-intents:
    onDone, onError{+: src === 'resolveIntents' ? { target: 'listing' } : onError+} } };
  provisioner-ignores-a-pause: [-listed.kind === 'paused'-]{+false+},
  provisioner-pauses-in-one-step:
    Math.[-min(PAUSE_STEP_MS, Math.max(1, listed.pauseMs)-]{+max(1, listed.pauseMs+})
  provisioner-pauses-for-less-than-nothing: [-Math.max(1, listed.pauseMs)-]{+listed.pauseMs+}
  provisioner-pause-is-not-reported:
    [-          { type: 'reportPause', params: (at: ListingDone) => ({ ...round(at), ...listedOf(at) }) },\n-]
  provisioner-creates-though-nothing-is-planned:
    [-[{ guard: 'nothingPlanned', -]{+{ +}target: '[-resting' }, { target: '-]creating' }[-]-]
  provisioner-creates-what-an-earlier-round-planned:
    assign({[- -]{+\n      +}planned: ([-_-]{+{ context }+}, { planned }: { planned: number }) => [-planned -]{+Math.max(context.planned, planned),\n    +}})
  provisioner-records-nothing: target: '[-observing-]{+creating+}',
  provisioner-fails-without-pause: [-* 2 ** (context.failures - 1)-]
  provisioner-pauses-after-failures-grow-for-ever: BACKOFF_MAX_MS = [-300_000-]{+3_000_000+}
  provisioner-fails-in-haste: [-Math.max(1_000, context.periodMs)-]{+context.periodMs+}
  provisioner-failures-are-never-forgotten:
    entry: [-['forgetFailure', -]{ type: 'reportRound', params: round }[-]-],
  provisioner-rounds-are-not-reported:
    entry: [-['forgetFailure', { type: 'reportRound', params: round }]-]{+'forgetFailure'+},
  provisioner-failures-are-not-reported: type: '[-reportFailure-]{+keepFailure+}', params: reported
src/machines/cell.ts test/model/cell.rules.test.ts
  cell-each-news-is-a-new-machine: if (self.getSnapshot().children[view.slot{+ + '?'+}]) {
  cell-crashed-machine-keeps-its-place:
    { type: [-'forget', params: ({ event }) => event },\n        { type: -]'reportCrash'
  cell-crash-is-not-reported: [-{ type: 'reportCrash', params: ({ event }) => event },-]
  cell-end-is-not-reported: [-{ type: 'reportEnd', params: ({ event }) => event },-]
  cell-ended-machine-keeps-its-place:
    { type: [-'forget', params: ({ event }) => event },\n        { type: -]'reportEnd'
  cell-retired-machine-works-on:
    [-actions: { type: 'forget', params: ({ event }) => ({ actorId: event.slot }) },-]
  cell-holds-too-many: CELL_CAPACITY = [-64-]{+640+}
src/machines/services.ts test/machines/services.test.ts
  services-promise-that-nobody-provided-hangs:
    fromPromise<Output, Input>([-async () => unprovided(-]{+() => new Promise(() => +}name))
  services-service-that-nobody-provided-is-silent:
    fromCallback<Received, Input>(() => [-unprovided(name)-]{+void name+})
  services-action-that-nobody-provided-is-skipped:
    [-throw new Error(\`"\${name}" was not provided\`)-]{+return undefined as never+};
src/actors/session-keeper.ts test/actors/session-keeper.test.ts
  keeper-session-past-its-deadline-is-current:
    holder.session[- && !holder.session.signal.aborted ? holder.session : null-]
  keeper-session-opened-too-late-stays: [-await session.close();\n          -]throw
  keeper-session-left-behind-stays: [-left?.close(-]{+Promise.resolve(left+}).catch(
  keeper-tells-nobody-of-a-session-that-stays:
    [-log.warn({ err }, 'the previous session could not be closed; it ends at its deadline')-]{+void err+};
  keeper-failed-close-is-the-last: [-holder.session ??= session;-]
  keeper-closed-session-is-current: [-holder.session = null;\n      -]try
  keeper-waiting-is-in-vain: [-for (const onAlive of [...holder.waiting]) onAlive(session);-]
  keeper-watches-a-session-that-is-over-for-ever: [-if (session.signal.aborted) return onExpired();-]
  keeper-watches-no-deadline:
    [-session.signal.addEventListener('abort', onExpired, { once: true, signal })-]{+void signal+};
  keeper-does-not-poke: fromPromise<void, void>([-() => held().poke-]{+async () => void held+}())
src/actors/leases.ts test/actors/leases.test.ts
  leases-job-of-another-session-is-ours: [-keeper.current() === found.session-]{+true+} ?
  leases-job-that-was-lost-is-ours: [-taken.delete(job);\n        -]const waits
  leases-taken-without-asking: if (lease{+ || taken.size === 0+}) {\n          taken
  leases-are-asked-for-too-rarely: {+10 * +}retryMs * (0.8
  leases-waiting-outlives-the-session: [-AbortSignal.any([signal, session.signal])-]{+signal+}
  leases-waiting-outlives-who-waits: [-AbortSignal.any([signal, session.signal])-]{+session.signal+}
  leases-are-not-given-back: await [-lease.release-]{+Promise.resolve+}().catch(
  leases-are-ours-after-they-were-given-back: [-taken.delete(job-]{+job.at(0+});\n      for
  leases-of-a-dead-session-are-given-back: [-if (session.signal.aborted) continue;-]
  leases-one-that-cannot-be-given-back-keeps-the-rest:
    [-log.warn(fields, 'a job could not be released; it becomes free when the session ends')-]{+throw error+};
src/actors/provisioning/services.ts test/actors/provisioning test/actors/providers/holds.test.ts
  chunk-creations-are-not-spaced: [-if (waitMs > 0) await sleep(clock, waitMs, ends);-]
  chunk-more-at-once-than-allowed: while (creations.count(provider) >[-=-] limits.parallelism) {
  chunk-holds-do-not-hold: if (refusal [-!== null-]{+=== ''+}) {
  chunk-waits-for-a-place-for-ever: [-if (leftMs <= 0) return false;-]
  chunk-goes-on-after-a-lost-lease: [-if (failed.signal.aborted) break;-]
`;
