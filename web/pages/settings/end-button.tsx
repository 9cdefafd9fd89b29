import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { commandLine } from '../../acts/command.ts';
import { AsCommand } from '../../parts/copy.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Notice } from '../../parts/panel.tsx';
import { texts } from '../../texts.ts';

export interface EndButtonProps {
  readonly label: string;
  /** The whole question, such as "Revoke the token ci". */
  readonly title: string;
  /** The consequence. */
  readonly why: string;
  /** The words after `shepherd` that do the same. */
  readonly command: readonly string[];
  readonly end: () => Promise<void>;
  /** The list that is loaded again afterwards. */
  readonly of: 'logins' | 'tokens';
}

/** Ends a login or a token after a confirmation. */
export function EndButton({ title, ...form }: EndButtonProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" aria-haspopup="dialog" aria-label={title} onClick={() => setOpen(true)}>
        {form.label}
      </button>
      {open && (
        <Dialog title={title} close={() => setOpen(false)}>
          {(leave) => <EndForm {...form} leave={leave} />}
        </Dialog>
      )}
    </>
  );
}

interface EndFormProps extends Omit<EndButtonProps, 'title'> {
  readonly leave: () => void;
}

function EndForm({ label, why, command, end, of, leave }: EndFormProps) {
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
      <AsCommand text={commandLine(command)} />
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
