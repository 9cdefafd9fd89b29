import { Subscription, type SchedulerAction, type SchedulerLike } from 'rxjs';
import type { Clock } from '../../src/adapters/clock/port.ts';

/** RxJS on our clock, so that streams run in virtual time. */
export function clockScheduler(clock: Clock): SchedulerLike {
  return {
    now: () => clock.now(),
    schedule<T>(
      work: (this: SchedulerAction<T>, state?: T) => void,
      delayMs = 0,
      state?: T,
    ): Subscription {
      const subscription = new Subscription();
      const action = Object.assign(subscription, {
        schedule(next?: T, againMs = 0): Subscription {
          const timer = clock.setTimeout(() => {
            subscription.remove(cancel);
            if (!subscription.closed) work.call(action, next);
          }, againMs);
          const cancel = new Subscription(() => clock.clearTimeout(timer));
          subscription.add(cancel);
          return subscription;
        },
      }) as SchedulerAction<T>;
      return action.schedule(state, delayMs);
    },
  };
}
