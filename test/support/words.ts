/** The words of a text, which spaces and line breaks separate: a long list without a line for each. */
export const words = (text: string): string[] => text.trim().split(/[ \n]+/);
