import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Dialog } from '../../parts/dialog.tsx';
import { Notice } from '../../parts/panel.tsx';
import { texts } from '../../texts.ts';

export interface EndButtonProps {
  readonly label: string;
  /** What is ended, in full. */
  readonly title: string;
  /** What happens then. */
  readonly why: string;
  readonly end: () => Promise<void>;
  /** The list that is another then. */
  readonly of: 'logins' | 'tokens';
}

/** Ends a login or a token, once it was said again. */
export function EndButton({ label, title, why, end, of }: EndButtonProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" aria-haspopup="dialog" aria-label={title} onClick={() => setOpen(true)}>
        {label}
      </button>
      {open && (
        <Dialog title={title} close={() => setOpen(false)}>
          {(leave) => <EndForm {...{ label, why, end, of, leave }} />}
        </Dialog>
      )}
    </>
  );
}

interface EndFormProps extends Omit<EndButtonProps, 'title'> {
  readonly leave: () => void;
}

function EndForm({ label, why, end, of, leave }: EndFormProps) {
  const queries = useQueryClient();
  const ending = useMutation({
    mutationFn: end,
    onSuccess: async () => {
      leave();
      await queries.invalidateQueries({ queryKey: [of] });
    },
  });
  return (
    <>
      <p>{why}</p>
      {ending.error !== null && (
        <Notice tone="bad" title={texts.failed}>
          <p role="alert">{ending.error.message}</p>
        </Notice>
      )}
      <footer>
        <button type="button" onClick={leave} data-first>
          {texts.acts.cancel}
        </button>
        <button
          type="button"
          className="act"
          disabled={ending.isPending}
          onClick={() => ending.mutate()}
        >
          {label}
        </button>
      </footer>
    </>
  );
}
