import { mutationsOf } from './mutation.ts';

/** What becomes of each member next: who serves, who is let go, and who waits. */
export const mutations = mutationsOf`
src/domain/balancing/member-steps.ts test/domain/balancing/member-steps.test.ts
  balancing-has-no-panic-guard: return isTooMany([-going.length-]{+0+}, active) ? going.toSorted() : [];
  balancing-fears-what-was-ordered: [- && wish.isOrdered !== true-];
  balancing-counts-who-lost-a-port: seen?.open [-=== mostOpen-]{+!== 0+}
  balancing-decides-blindly: const isBlind = [-sights === null-]{+false+};
  balancing-serves-before-it-is-warm:
    const isWell = seen?.isWhole === true[- && (!capabilities.health || seen.health === 'up')-];
  balancing-gives-the-address-of-a-member-to-another: if (holder [-!== undefined-]{+=== machineId+}) leaveOut
  balancing-joins-where-somebody-may-still-drain: if (sights === null) return [-false-]{+true+};
src/domain/balancing/member-steps.ts test/domain/balancing/out-of-reach.test.ts
  balancing-takes-back-its-word-while-it-is-refused: && row.state !== 'drained'[- && !isRefused-];
src/domain/balancing/member-steps.ts test/domain/balancing/given-back.test.ts
  balancing-lets-each-balancer-have-its-own-order: const isUnderWay = [-others.some(isLetGo)-]{+false+};
  balancing-sets-nobody-aside: const isSetAside = [-isStuck-]{+false+} && nowMs <
src/domain/balancing/draining.ts test/domain/balancing/member-steps.test.ts
  balancing-lets-go-while-new-connections-come: if ([-isAway && -]seen.sessions === 0)
  balancing-believes-old-looks:
    \_\_if (sights === null) return [-pass.needLook(-]{+drained(pass, row, wish, 'gone'+});\n  const how
  balancing-cuts-those-who-came-until-lately: [-isAway ? graceEndMs(pass, row) : -]0
  balancing-moves-the-deadline-at-each-pass: const isOver = !isAway[- && nowMs >= endMs-];
src/domain/balancing/draining.ts test/actors/balancing/members.test.ts
  balancing-looks-again-and-again-at-what-is-refused: if (isNative[- && !memory.refusing.has(machineId)-])
  balancing-waits-for-ever-for-what-is-refused: if (refused && {+!+}answerInstead(
src/domain/balancing/draining.ts test/domain/balancing/out-of-reach.test.ts
  balancing-takes-back-that-it-was-not-waited-for: [-...(row.waived && { waived: true })-]
src/domain/balancing/member-steps.ts test/actors/balancing/members.test.ts
  balancing-looks-for-ever-for-who-joins:
    [- && nowMs < row.sinceMs + pool.warmUpMs + JOIN_MS-]) pass.lookSoon();
  balancing-sees-no-address-of-who-drains: const isKnown = addLeaving(pass, all, [-taken-]{+new Map()+});
src/actors/balancing/step-members.ts test/actors/balancing/members.test.ts
  balancing-repeats-what-is-refused: return !refused || deps.nowMs() >= [-callAgainMs(refused, mode)-]{+0+};
  balancing-forgets-that-a-call-was-refused: [-if (!left.has(machineId)) -]refusing.delete(machineId);
  balancing-looks-for-who-is-away: ? [-deps.nowMs() >= away.againAtMs-]{+true+}
  balancing-knows-nothing-of-other-places: if (row[-?.machineId === machineId-]{+ === null+}) found.set
  balancing-forgets-whom-it-gave-back: \_\_[-rememberGivenBack-]{+void +}(
src/domain/balancing/member-readings.ts test/domain/balancing/member-readings.test.ts
  balancing-takes-unknown-for-down: mode === 'active' && server?.health [-!== 'down-]{+=== 'up+}'
src/domain/balancing/drain-turns.ts test/domain/balancing/member-steps.test.ts
  balancing-ignores-the-least-number: left < [-minActive-]{+0+} && !force
  balancing-interrupts-all-at-once: interrupted + kept >[-= drain.atOnce-]{+ 1_000+}
  balancing-breaks-before-members-come: reason === DESELECTED && muster.[-isFilling-]{+serving < 0+}
src/domain/balancing/drain-turns.ts test/domain/balancing/drain-turns.test.ts
  balancing-gives-nobody-back: if (nowMs [->= atMs-]{+< 0+}) giveBack
  balancing-gives-the-elder-back: , [-{ wish, isUnderWay: true }) < 0-]{+elder.candidate) < 1+}
  balancing-lets-others-pass-who-waits: [-if (!leaves) kept += 1;-]
  balancing-waits-behind-the-hopeless: [-if (left + coming < minActive) continue;-]
  balancing-drains-anew-whom-it-just-gave-back: isJoining && [-elders-]{+[]+}.some(
src/domain/balancing/drain-turns.ts test/domain/balancing/given-back.test.ts
  balancing-gives-back-whom-nobody-waits-for: state === 'drained'[- && !isParked(wish)-]
  balancing-gives-back-who-still-drains: [-state === 'drained' && -]!isParked(wish)
  balancing-waits-for-a-refusal-elsewhere: \_[-|| refused -]||
src/domain/balancing/desired-member.ts test/domain/balancing/desired-member.test.ts
  balancing-drops-the-silent-while-the-guard-doubts:
    ({ state }) => state === [-'frozen' || state === 'grace' || state === -]'blind',
  balancing-keeps-a-silent-machine-that-somebody-wants-to-leave:
    if (doubt !== null[- && !asked-]) return keep(doubt);
`;
