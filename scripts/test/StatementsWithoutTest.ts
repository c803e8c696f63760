/**
 * Statements whose tests are still being written or annotated. Remove a statement when a test names
 * it; the list must end empty.
 */
export const withoutTest: ReadonlyArray<string> = [
  ..."A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 A15 A16 A17".split(" "),
  ..."B1 B2 B3 B4 B5 B6 B7 B8".split(" "),
  ..."C1 C2 C3 C4 C5 C6 C7 C8 C9 C10 C11 C12".split(" "),
  ..."D1 D2 D3 D4 D5 D6 D7 D8 D9 D10 D11 D12 D13 D14 D15 D16 D17 D18 D19 D20 D21 D22 D23 D24 D25 D26 D27".split(" "),
  ..."E1 E2 E3 E4 E5 E6 E7 E8 E9".split(" "),
  ..."F1 F2 F3 F4 F5 F6 F7 F8 F9 F10 F11 F12".split(" "),
  ..."G1 G2 G3 G4 G5 G6 G7 G8 G9 G10 G11 G12".split(" "),
  ..."H1 H2".split(" "),
  ..."I1 I2 I3 I4 I5 I6 I7 I8".split(" "),
  ..."J1 J2 J3 J4 J5 J6 J7 J8 J9 J10 J11 J12 J13 J14 J15 J16 J17 J18 J19".split(" "),
  ..."K1 K2 K3 K4".split(" "),
  ..."L1 L2 L3 L4 L5 L6 L7 L8 L9 L10 L11 L12 L13 L14 L15 L16 L17 L18 L19 L20 L21 L22 L23 L24 L25 L26 L27 L28 L29 L30 L31 L32".split(
    " "
  ),
  ..."M1 M2 M3 M4 M5 M6 M7 M8 M9 M10 M11 M12 M13 M14 M15 M16 M17 M18 M19 M20 M21 M22 M23 M24 M25 M26 M27 M28 M29 M30 M31 M32 M33 M34".split(
    " "
  ),
  ..."N1 N2 N3 N4 N5 N6 N7 N8 N9 N10 N11 N12 N13 N14 N15 N16 N17 N18 N19 N20 N21 N22 N23 N24 N25 N26 N27 N28 N29 N30 N31 N32 N33 N34 N35 N36 N37 N38 N39 N40 N41 N42 N43 N44 N45 N46 N47 N48 N49 N50 N51 N52 N53 N54".split(
    " "
  ),
  ..."O1 O2 O3 O4 O5 O6 O7 O8 O9 O10 O11 O12 O13".split(" "),
  ..."P1 P2 P3 P4 P5 P6 P7 P8 P9".split(" "),
  ..."Q1 Q2 Q3 Q4".split(" "),
  ..."R400 R401 R402 R403 R404 R413 R429 R500 R502 R503 R504 R524 R529".split(" "),
  ..."T1 T2 T3 T4 T5 T6 T7 T8 T9 T10 T11".split(" "),
  ..."U1 U2 U3".split(" "),
  ..."V1 V2 V3 V4 V5 V6 V7 V8 V9 V10 V11 V12 V13 V14 V15 V16 V17 V18 V19".split(" ")
]
