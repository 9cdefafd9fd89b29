import { useMutation, useQueryClient } from '@tanstack/react-query';
import { webhooks } from '../../api/resources.ts';

export interface ActProps {
  readonly label: string;
  /** What is done, in full. */
  readonly title: string;
  /** Said when it is done; absent: what is shown is another then. */
  readonly done?: string;
  readonly act: () => Promise<void>;
}

/** A button that takes effect at once, as nothing is lost by it. */
export function Act({ label, title, done, act }: ActProps) {
  const queries = useQueryClient();
  const acting = useMutation({
    mutationFn: act,
    onSettled: () => queries.invalidateQueries({ queryKey: webhooks.queryKey }),
  });
  return (
    <>
      <button
        type="button"
        aria-label={title}
        disabled={acting.isPending}
        onClick={() => acting.mutate()}
      >
        {label}
      </button>
      <span role="status">{acting.isSuccess && done}</span>
      {acting.error !== null && <span role="alert">{acting.error.message}</span>}
    </>
  );
}
