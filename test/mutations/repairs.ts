import { mutationsOf } from './mutation.ts';

/** Planned work, chronic machines, and the replacement of lost ones. */
export const mutations = mutationsOf`
src/domain/rolling.ts test/domain/rolling.test.ts
  a-batch-begins-beside-an-open-order: const isOver = [-order.state !== 'open' || roll.stopOnFailure-]{+order !== null+};
src/domain/recovery/ladder.ts test/domain/recovery/chronic.test.ts
  a-chronic-machine-is-recovered-once-more: if (count <{+=+} episodes) return null;
  a-recovery-counts-for-ever: beganAtMs > [-nowMs - chronic.withinMs-]{+nowMs - nowMs + 0 * chronic.withinMs+}).length
src/domain/provisioning/replacement.ts test/domain/provisioning/replacement.test.ts
  a-freeze-stops-no-replacement: if (isFrozen[-)-]{+ && inService < 0)+} return
  replacements-have-no-limit: if (replaced < [-replacementsMax-]{+Infinity + replacementsMax+}) return
  a-replacement-of-this-round-does-not-count: if (replaces) replaced += [-1-]{+0+};
  a-replacement-begins-in-any-window: return input.replacementBar[- ?? null-]{+ && null+};
  the-target-is-exceeded-by-one: if (inService >[-=-] machines) return
src/domain/windows.ts test/config/windows.test.ts
  each-window-has-to-be-open: if (isOpen) [-return null-]{+continue+};
  a-window-closes-other-providers: if ([-!applies(window, place)-]{+place === null+}) continue;
`;
