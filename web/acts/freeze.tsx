import { VERBS } from '../../src/domain/verbs.ts';
import { texts } from '../texts.ts';
import { AskButton } from './at-large.tsx';

export interface FreezeProps {
  /** `fleet`, or a provider. */
  readonly scope: string;
  readonly isFrozen: boolean;
  /** Whether an operator froze the scope. Such a freeze thaws only at its end time, if it has one. */
  readonly isByHand?: boolean;
}

/** Buttons that freeze recovery in a scope, thaw it, or keep an automatic freeze. */
export function FreezeButtons({ scope, isFrozen, isByHand = isFrozen }: FreezeProps) {
  const about = {
    subject: scope === 'fleet' ? texts.guard.wholeFleet : texts.fleet.provider(scope),
    provider: scope === 'fleet' ? null : scope,
  };
  return (
    <span className="freeze">
      {isFrozen && <AskButton {...about} label={texts.guard.thaw} wish={{ verb: 'thaw', scope }} />}
      {!isByHand && (
        <AskButton
          {...about}
          label={isFrozen ? texts.guard.keepFrozen : texts.guard.freeze}
          wish={{ verb: 'freeze', scope }}
          timed={{ verb: 'freeze-until', label: VERBS['freeze-until'].details.untilMs.page }}
        />
      )}
    </span>
  );
}
