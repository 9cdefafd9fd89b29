import { VERBS } from '../../src/domain/verbs.ts';
import { texts } from '../texts.ts';
import { AskButton } from './at-large.tsx';

export interface FreezeProps {
  /** `fleet`, or a provider. */
  readonly scope: string;
  readonly isFrozen: boolean;
  /** Whether an operator froze the scope. Such a freeze thaws only at its end, if it has one. Absent: unknown. */
  readonly isByHand?: boolean;
}

/** Buttons that freeze recovery in a scope, thaw it, keep an automatic freeze, or change an operator's freeze. */
export function FreezeButtons({ scope, isFrozen, isByHand }: FreezeProps) {
  const { freeze, keepFrozen, changeEnd } = texts.guard;
  const about = {
    subject: scope === 'fleet' ? texts.guard.wholeFleet : texts.fleet.provider(scope),
    provider: scope === 'fleet' ? null : scope,
  };
  return (
    <span className="freeze">
      {isFrozen && <AskButton {...about} label={texts.guard.thaw} wish={{ verb: 'thaw', scope }} />}
      {!(isFrozen && isByHand === undefined) && (
        <AskButton
          {...about}
          label={isFrozen ? (isByHand ? changeEnd : keepFrozen) : freeze}
          wish={{ verb: 'freeze', scope }}
          timed={{ verb: 'freeze-until', label: VERBS['freeze-until'].details.untilMs.page }}
        />
      )}
    </span>
  );
}
