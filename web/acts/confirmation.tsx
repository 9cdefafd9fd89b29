import { texts } from '../texts.ts';

/** How much care a request asks for. `destroying`: the loss cannot be undone. */
export type Care = 'plain' | 'careful' | 'destroying';
/** Number of characters at the end of a slot that a person types before a destroying request. */
const TYPED_CHARACTERS = 8;

export interface ConfirmationProps {
  readonly care: Care;
  readonly slots: readonly string[];
  readonly typed: string;
}

/** The text that a person must type before submitting. Null: none. */
function expected({ care, slots }: Pick<ConfirmationProps, 'care' | 'slots'>): string | null {
  if (slots.length > 1) return String(slots.length);
  return care === 'destroying' && slots[0] !== undefined ? slots[0].slice(-TYPED_CHARACTERS) : null;
}

/** Whether the typed text is the expected text. */
export const isConfirmed = (props: ConfirmationProps): boolean => {
  const wanted = expected(props);
  return wanted === null || props.typed === wanted;
};

/** Asks for the number of machines, or for the end of the slot before a destroying request. */
export function Confirmation({
  type,
  ...props
}: ConfirmationProps & { readonly type: (text: string) => void }) {
  const { slots, typed } = props;
  if (expected(props) === null) return null;
  return (
    <label>
      {slots.length > 1 ? texts.acts.typeNumber(slots.length) : texts.acts.typeEnd(slots[0] ?? '')}
      <input
        className="mono"
        name="confirmation"
        value={typed}
        onChange={({ target }) => type(target.value)}
        autoComplete="off"
        spellCheck={false}
      />
    </label>
  );
}
