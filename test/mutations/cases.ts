import { mutationsOf } from './mutation.ts';

/** Repairs: when a case is opened, and what evidence is taken and kept. */
export const mutations = mutationsOf`
src/domain/cases.ts test/domain/cases.test.ts
  cases-of-machines-that-operators-put-aside: [-quarantine?.kind === 'needsHuman'-]{+quarantine !== null+} ||
  cases-of-chronic-machines-are-forgotten: [- || (quarantine?.cause ?? null) !== null-];
  cases-of-slots-that-operators-drain: if (effect !== 'drain'[-)-]{+ && effect !== 'no-new-work')+} return [];
  cases-of-announced-work: if (status !== 'True'[- || (fromMs ?? 0) > scene.nowMs-]) return [];
  cases-are-opened-beside-an-open-one: if ([-last.closedAtMs === null || -]sinceMs === null) return false;
  cases-are-opened-again-at-once: last.closedBy === ACCEPTANCE_SOURCE || [-sinceMs > last.closedAtMs-]{+sinceMs > 0+};
  cases-are-closed-by-an-older-acceptance: acceptance?.cause !== 'repaired'[- || acceptance.askedAtMs <= openedAtMs-])
  cases-of-a-lying-checker-are-lost: last.closedBy === [-ACCEPTANCE_SOURCE-]{+''+} ||
  cases-of-people-close-themselves: return openedBy === [-CASE_RULE-]{+openedBy+} ? 'request'
  cases-of-a-lying-checker-are-opened: [-if (isSuspicious) return false;-]
  cases-are-closed-while-a-person-put-it-aside: reasons.length > 0[- || quarantine !== null-] ||
  cases-are-closed-by-a-failed-acceptance: return acceptance.state [-===-]{+!==+} 'passed' ? 'close'
src/actors/cases.ts test/daemon/cases.test.ts
  cases-are-never-opened-again: return (await events.latest(query, signal)).events.at(-1)?.atMs[- ??-]{+ && null ||+} null;
src/actors/cases.ts test/actors/cases.test.ts
  cases-of-conditions-have-no-evidence: if (reason.sinceMs [-!==-]{+===+} null) drained
  cases-are-closed-while-something-is-wrong: caseStep(known, facts.row.acceptance, [-isBroken(facts, reasons)-]{+false+});
  cases-are-closed-before-all-is-known: [-    if (!deps.isWhole()) return;\n-]
  acceptance-before-the-end-of-the-repair: acceptance.cause === 'repaired' && [-isBroken(facts, reasons)-]{+false+};
  acceptance-outside-its-window: return isTooEarly[- || deps.waitsForWindow(facts)-] ? []
src/actors/loops.ts test/actors/cases.test.ts
  cases-are-opened-by-every-daemon: [-      await leases.take(job, signal);\n-]
src/adapters/bmdb/pg/cases/repository.ts test/adapters/bmdb/pg/contract-events.test.ts -t repair cases
  cases-are-closed-twice: WHERE r.case_id = \${caseId}[- AND r.closed_at IS NULL-] RETURNING
  cases-show-the-evidence-of-later-repairs: [-             AND (\${untilMs} IS NULL OR l.at < \${time(\`(\${untilMs} + 1)\`)})-])
  cases-lose-their-evidence:   [-AND NOT EXISTS-]{+AND EXISTS+} (SELECT 1 FROM repair_cases r\n
src/actors/tasks/evidence.ts test/actors/tasks/recovery/taking-evidence.test.ts
  evidence-delays-recovery: const COMMAND_LIMIT_MS = [-4_000-]{+40_000+};
  evidence-fails-recovery: deps.log.info({ slot, err }, 'no evidence could be taken');{+\n    throw err;+}
  evidence-is-taken-again-and-again: taken.some((line) => line.kind === kind{+ && line.atMs < 0+})
  evidence-contains-secrets: const text = [-withoutSecrets(end)-]{+end+}.trimEnd()
  evidence-is-the-begin-of-a-log: .trimEnd().slice([--OUTPUT_MAX-]{+0, OUTPUT_MAX+})
  evidence-of-a-stranger: if ([-shell.hostKey === row.hostKey-]{+shell+}) await takeEvidence
  evidence-only-of-the-first-program: if (isGood[-) break-]{+ || text) break+};
src/actors/tasks/recovery/boot.ts test/actors/tasks/recovery/taking-evidence.test.ts
  evidence-before-an-order: [-if (step.order === null) -]await takeEvidence
src/actors/tasks/agent-start.ts test/actors/tasks/recovery/taking-evidence.test.ts
  evidence-of-every-agent-start: [-row.slot.isRecovering && -]row.recovery?.bootIdBefore
  evidence-of-the-same-boot: row.slot.isRecovering[- && row.recovery?.bootIdBefore !== trust.bootId-];
`;
