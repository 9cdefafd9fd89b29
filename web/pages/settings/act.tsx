import { useMutation, useQueryClient } from '@tanstack/react-query';
import { webhooks } from '../../api/resources.ts';

export interface ActProps {
  readonly label: string;
  /** The whole description of the action. */
  readonly title: string;
  /** The message after success. Absent: the changed data shows the success. */
  readonly done?: string;
  readonly act: () => Promise<void>;
}

/** A button that acts without a dialog, because nothing is lost. */
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
